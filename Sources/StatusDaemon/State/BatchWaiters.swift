// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

/// The callers that wait until a batch of changes is saved.
@EventLoop
final class BatchWaiters {
    typealias Ends = [UInt64: @Sendable (()) -> Void]

    static let limit = Duration.seconds(2)

    private var count: UInt64 = 0
    /// The callers that wait for the next batch.
    private(set) var next: Ends = [:]
    /// The callers that wait for the batch that is being saved; nil if no batch is being saved.
    private var current: Ends?

    var isSaving: Bool { current != nil }

    /// Waits until the next batch, or the one being saved, is saved or has failed; at most for the limit.
    ///
    /// A cancelled caller stops waiting at once, and leaves nothing behind.
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
