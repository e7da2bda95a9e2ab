// SPDX-License-Identifier: Apache-2.0

import StatusSources
import Systemd

/// Runs the checks' schedules side by side, each until its source is closed.
@EventLoop
final class SourceRunner {
    private let sources: AsyncStream<CheckSource>
    private let continuation: AsyncStream<CheckSource>.Continuation

    init() { (sources, continuation) = AsyncStream.makeStream() }

    /// Has a source run, now or as soon as ``run()`` is called.
    func start(_ source: CheckSource) { continuation.yield(source) }

    /// Runs what was started until the task is cancelled; returns when nothing of it runs any more.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await source in sources { group.addTask { await source.run() } }
            group.cancelAll()
        }
    }
}
