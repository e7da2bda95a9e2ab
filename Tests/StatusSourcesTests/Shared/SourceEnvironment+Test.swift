// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Logging
import SourceKinds
import StatusMonitor

@testable import StatusSources

extension SourceEnvironment {
    /// An environment for sources that a test runs itself.
    static func test(
        _ monitor: StatusMonitor = StatusMonitor(), budget: CheckBudget = CheckBudget(CheckLimits())
    ) -> SourceEnvironment {
        SourceEnvironment(
            monitor: monitor, budget: budget, notifyDirectory: "/nonexistent", executor: nil, userAgent: "",
            logger: Logger(label: "test")
        ) { _ in }
    }
}
