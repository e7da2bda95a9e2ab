// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusModel
import SystemdClient

@testable import StatusSources

/// Shared parts of the tests of how a unit is judged.
protocol UnitFixture {}

extension UnitFixture {
    func judge(
        runtime: Duration? = nil, failures: Int = 1, successes: Int = 1, shown: Level? = nil
    ) -> UnitJudge {
        let schedule = CheckSchedule(interval: .seconds(30), failures: failures, successes: successes)
        return UnitJudge(of: "x.service", runtime: runtime, schedule: schedule, shown: shown)
    }

    func unit(
        _ active: String, _ sub: String, result: String? = nil, restarts: Int = 0, status: String? = nil
    ) -> UnitProperties {
        var properties = UnitProperties()
        properties.loadState = "loaded"
        properties.activeState = active
        properties.subState = sub
        properties.result = result
        properties.restarts = restarts
        properties.statusText = status
        properties.serviceType = "simple"
        return properties
    }

    func backup(startedAt time: Duration) -> UnitProperties {
        var properties = unit("activating", "start")
        properties.serviceType = "oneshot"
        properties.startedAt = time
        return properties
    }
}
