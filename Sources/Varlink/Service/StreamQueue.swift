// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

/// The streams of a service that have something to write, one after another; users take turns.
///
/// All streams together take no more than a part of each turn of the loop, so other work waits no longer than that.
@EventLoop
final class StreamQueue {
    /// How much of a turn all streams together should take, in nanoseconds.
    private static let share: UInt64 = 1_000_000
    /// The same while some are about to lose something.
    private static let largestShare: UInt64 = 3_000_000

    private var waiting = FairQueue<VarlinkStream>(credit: StreamQueue.share)
    /// The streams that are about to lose something, and wait until other threads have sent what they wrote.
    private var behind: Set<ObjectIdentifier> = []
    private var isScheduled = false
    private var turn: UInt64 = 0
    /// How much of this turn they have taken, in nanoseconds.
    private var taken: UInt64 = 0

    /// Has a stream write at the end of this turn, or when its turn comes.
    func append(_ stream: VarlinkStream, of user: UInt32) {
        waiting.append(stream, of: user)
        guard !isScheduled else { return }
        isScheduled = true
        EventLoop.atEndOfTurn { self.pumpScheduled() }
    }

    /// Holds up input until a stream's output has been sent.
    func awaitSending(of stream: VarlinkStream) {
        behind.insert(ObjectIdentifier(stream))
        FlowControl.hold()
    }

    /// Notes that a stream's output has been sent, is not being sent for now, or has ended.
    func endAwaiting(of stream: VarlinkStream) {
        guard behind.remove(ObjectIdentifier(stream)) != nil, behind.isEmpty, waiting.isEmpty else { return }
        FlowControl.release()
    }

    /// Has streams write now, as far as the turn has time for them.
    func pump() { pump(upTo: Self.share) }

    /// Has streams write now, because some are about to lose something; if that is not enough, holds up input.
    func catchUp() {
        pump(upTo: Self.largestShare)
        if !waiting.isEmpty { FlowControl.hold() }
    }

    private func pumpScheduled() {
        pump(upTo: Self.share)
        guard waiting.isEmpty else { return EventLoop.atNextTurn { self.pumpScheduled() } }
        isScheduled = false
        if behind.isEmpty { FlowControl.release() }
    }

    private func pump(upTo limit: UInt64) {
        if EventLoop.turn != turn { (turn, taken) = (EventLoop.turn, 0) }
        let (share, before) = (TurnShare(), taken)
        while taken < limit, let (stream, user) = waiting.popFirst() {
            stream.takeTurn()
            let takenBefore = taken
            taken = before + share.nanosecondsTaken
            waiting.charge(taken - takenBefore, to: user)
        }
    }
}
