// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
public import SourceKinds

/// Looks at a file in each interval, and when it or its path changes.
struct FileCheck: Check {
    private let look: HostCheck
    /// Nil if a directory of the path is a pattern.
    private let watch: FileWatch?
    private let watcher: FileWatcher

    var resource: CheckBudget.Resource { look.resource }
    var changes: AsyncStream<Void>? { watch?.changes }

    @EventLoop init(_ settings: FileSettings, _ order: SourceOrder) {
        look = HostCheck(settings, order)
        watcher = order.environment.shared(FileWatcher.self)
        watch =
            settings.hasPatternInDirectory
            ? nil : FileWatch(path: settings.path, isPattern: settings.hasPattern)
    }

    func run() async throws -> CheckResult {
        let (result, hasAnswered) = try await look.look()
        if let watch, hasAnswered { await watcher.begin(watch) }
        return result
    }
}

extension FileSettings: CheckMaking {
    public func makeCheck(_ order: SourceOrder) -> any Check { FileCheck(self, order) }
}
