// SPDX-License-Identifier: Apache-2.0

import DequeModule
import EventLoopIO

/// The streams of a service that have something to write, in the order in which they were woken.
///
/// They write before the loop reads more input, so a client that keeps up misses nothing. If all of them together take
/// long, the rest goes on in the next turn, so that others do not wait for all streams.
@EventLoop
final class StreamQueue {
    /// How much of a turn all streams together may take.
    private static let share = Duration.milliseconds(20)

    private var waiting: Deque<VarlinkStream> = []

    /// Has a stream write at the end of this turn, or when its turn comes.
    func append(_ stream: VarlinkStream) {
        waiting.append(stream)
        if waiting.count == 1 { EventLoop.atEndOfTurn { self.pump() } }
    }

    /// Has the streams write now.
    func pump() {
        let share = TurnShare(Self.share)
        while !share.isUsedUp, let stream = waiting.popFirst() { stream.takeTurn() }
        if !waiting.isEmpty { EventLoop.atNextTurn { self.pump() } }
    }
}
