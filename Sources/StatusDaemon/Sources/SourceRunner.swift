// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusSources

/// Runs the checks' schedules side by side, each until its source is closed.
@EventLoop
final class SourceRunner {
    private let sources: AsyncStream<CheckSource>
    private let continuation: AsyncStream<CheckSource>.Continuation
    /// Those that are to run as soon as anything does.
    private var first: [CheckSource]? = []

    init() { (sources, continuation) = AsyncStream.makeStream() }

    /// Has a source run, now or as soon as ``run(onStart:)`` is called.
    func start(_ source: CheckSource) {
        if first != nil { first?.append(source) } else { continuation.yield(source) }
    }

    /// Runs what was started until the task is cancelled; returns when nothing of it runs any more.
    ///
    /// - Parameter onStart: is called when the first loads have begun.
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
