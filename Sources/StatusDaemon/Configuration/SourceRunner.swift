// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusSources

/// Runs the schedules of all checks, each until its source is closed.
@EventLoop
final class SourceRunner {
    private let sources: AsyncStream<CheckSource>
    private let continuation: AsyncStream<CheckSource>.Continuation
    private var first: [CheckSource]? = []

    init() { (sources, continuation) = AsyncStream.makeStream() }

    /// Runs a source, now or as soon as ``run(onStart:)`` is called.
    func start(_ source: CheckSource) {
        if first != nil { first?.append(source) } else { continuation.yield(source) }
    }

    /// Runs the started sources until the task is cancelled; returns when all have ended.
    ///
    /// - Parameter onStart: called when the first loads have begun.
    func run(onStart: @EventLoop @Sendable () -> Void) async {
        await withDiscardingTaskGroup { group in
            for source in first ?? [] { group.addTask { await source.run() } }
            first = nil
            onStart()
            for await source in sources { group.addTask { await source.run() } }
            group.cancelAll()
        }
    }
}
