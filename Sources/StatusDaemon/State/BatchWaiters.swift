// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

/// The callers that wait until a batch of changes is saved.
@EventLoop
final class BatchWaiters {
    typealias Ends = [UInt64: @Sendable (()) -> Void]

    /// How long a caller waits.
    static let limit = Duration.seconds(2)

    private var count: UInt64 = 0
    /// Those that wait for the next batch.
    private(set) var next: Ends = [:]
    /// Those that wait for the batch that is being saved; nil if none is.
    private var current: Ends?

    var isSaving: Bool { current != nil }

    /// Returns when the next batch, or the one that is being saved, was saved or failed, or after the limit.
    ///
    /// A caller that is cancelled stops waiting, and nothing is kept of it.
    func wait(forNext isNext: Bool) async {
        count += 1
        let number = count
        await TimedWait<Void>.run(within: Self.limit) { end in
            if isNext { next[number] = end } else { current?[number] = end }
        }
        next[number] = nil
        current?[number] = nil
    }

    func savingBegan() {
        current = next
        next = [:]
    }

    func savingEnded() {
        let ended = current ?? [:]
        current = nil
        for end in ended.values { end(()) }
    }
}
