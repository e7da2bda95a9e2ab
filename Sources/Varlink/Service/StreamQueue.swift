// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

/// The streams of a service that have something to write: one after another, those of one user after those of another, each as much as there is room for.
///
/// However many there are, they take no more than a part of each turn of the loop; whoever waits for something else waits for that part.
@EventLoop
final class StreamQueue {
    /// How much of a turn all streams together should take, in nanoseconds.
    private static let share: UInt64 = 1_000_000
    /// How much they may take if they are about to miss something.
    private static let largestShare: UInt64 = 3_000_000

    private var waiting = FairQueue<VarlinkStream>(credit: StreamQueue.share)
    /// The streams that go on when other threads have sent what they wrote, and are about to miss something.
    private var behind: Set<ObjectIdentifier> = []
    private var isScheduled = false
    private var turn: UInt64 = 0
    /// What they have taken of this turn, in nanoseconds.
    private var taken: UInt64 = 0

    /// Has a stream write at the end of the turn, or as soon as its turn comes.
    func append(_ stream: VarlinkStream, of user: UInt32) {
        waiting.append(stream, of: user)
        guard !isScheduled else { return }
        isScheduled = true
        EventLoop.atEndOfTurn { self.pumpScheduled() }
    }

    /// Holds up what comes in as long as a stream's output is being sent.
    func awaitSending(of stream: VarlinkStream) {
        behind.insert(ObjectIdentifier(stream))
        FlowControl.hold()
    }

    /// Notes that a stream's output has been sent, or is not being sent for now, or that it has ended.
    func endAwaiting(of stream: VarlinkStream) {
        guard behind.remove(ObjectIdentifier(stream)) != nil, behind.isEmpty, waiting.isEmpty else { return }
        FlowControl.release()
    }

    /// Has those streams write now that the turn has time for.
    func pump() { pump(upTo: Self.share) }

    /// Has streams write now, since some are about to miss something; holds up what comes in if that does not help.
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
