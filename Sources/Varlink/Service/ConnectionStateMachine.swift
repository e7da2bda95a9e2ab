// SPDX-License-Identifier: Apache-2.0

/// Decides what a service's connection does next.
///
/// It hands out one call at a time; the next call waits until this one is answered. A connection alternates between
/// reading and answering, writing or streaming. At the end it drains: it takes no more calls, sends the remaining
/// replies, and is closed.
struct ConnectionStateMachine: ~Copyable {
    /// What the connection must do, in this order.
    struct Effects: OptionSet, Hashable {
        let rawValue: UInt8

        /// Drop all output from now on.
        static let dropOutput = Effects(rawValue: 1)
        /// Cancel the current call, and close its stream.
        static let abandonCall = Effects(rawValue: 2)
        /// Let the stream write its remaining replies.
        static let wakeStream = Effects(rawValue: 4)
        /// Handle the next calls at the end of this turn of the loop.
        static let resume = Effects(rawValue: 8)
        /// Close the connection.
        static let close = Effects(rawValue: 16)
    }

    /// What the connection waits for.
    enum Expectation: Hashable {
        /// Calls, or the client's departure.
        case input
        /// The client's departure; more calls are not read yet.
        case departure
        /// Nothing from the client, which has left.
        case nothing
        /// Nothing: the connection must be closed.
        case end
    }

    private enum State {
        /// There is no current call.
        case reading
        /// The current call is not answered yet.
        case answering
        /// The current call is answered in pieces.
        case writing
        /// The current call is answered by a stream.
        case streaming
        /// A call was answered, and the next ones are handled at the end of the turn.
        case resuming
        /// No more calls are taken, but replies are still being sent.
        case draining
        case closed
    }

    private enum Input {
        /// The client may send more; there may be something to read.
        case open(isReadable: Bool)
        /// The client sends no more; calls that were read are still handled.
        case ended
        /// Input is ignored, because the client sent something that is not a call.
        case refused
        /// The service is ending; calls that were read are dropped.
        case stopped
    }

    private enum Handling {
        case idle
        /// Calls are being handled, further up the stack.
        case running
        /// Calls are being handled; the next ones wait for the next turn.
        case runningLast
        /// The next calls wait for the next turn.
        case queued
    }

    private var state = State.reading
    private var input = Input.open(isReadable: false)
    private var handling = Handling.idle
    private var hasDeparted = false
    /// How many bytes of replies may be unsent before calls have to wait.
    private let maximumUnsent: Int

    init(maximumUnsent: Int) { self.maximumUnsent = maximumUnsent }

    // MARK: Facts

    var isClosed: Bool { if case .closed = state { true } else { false } }

    /// Whether a reply can still reach the client.
    var mayReply: Bool { !isClosed && !hasDeparted }

    /// Whether there is a current call.
    var isAnswering: Bool {
        switch state {
        case .answering, .writing, .streaming: true
        case .reading, .resuming, .draining, .closed: false
        }
    }

    /// Whether a reply is being written in pieces.
    var isWriting: Bool { if case .writing = state { true } else { false } }

    /// Whether calls are neither being handled nor waiting for a turn.
    var mayBeginHandling: Bool { handling == .idle }

    /// Whether calls are being handled, further up the stack.
    var isHandling: Bool { handling == .running || handling == .runningLast }

    /// Whether the next calls wait for the next turn.
    var isQueued: Bool { handling == .queued || handling == .runningLast }

    /// Whether the next call may be handed out.
    func mayHandle(unsent: Int) -> Bool {
        guard case .reading = state, unsent < maximumUnsent else { return false }
        switch input {
        case .open, .ended: return true
        case .refused, .stopped: return false
        }
    }

    /// Whether there may be something to read.
    var isReadable: Bool { if case .open(isReadable: true) = input { true } else { false } }

    private func mayRead(unsent: Int) -> Bool {
        guard case .open = input else { return false }
        return mayHandle(unsent: unsent)
    }

    // MARK: What the client does

    /// There is something to read.
    ///
    /// If it may not be read now, the loop reports it again once the connection expects input.
    mutating func bytesCame(unsent: Int) {
        if mayRead(unsent: unsent) { input = .open(isReadable: true) }
    }

    /// Returns whether to read now.
    mutating func beginReading(unsent: Int) -> Bool {
        guard isReadable, mayRead(unsent: unsent) else { return false }
        input = .open(isReadable: false)
        return true
    }

    /// The client sends no more.
    mutating func inputEnded() {
        if case .open = input { input = .ended }
    }

    /// The client sent something that is not a call.
    mutating func refuseInput() {
        if case .stopped = input { return }
        input = .refused
    }

    /// The client reads no more.
    ///
    /// Its calls are still handled, because a client may send oneway calls and leave.
    mutating func clientDeparted() -> Effects {
        guard mayReply else { return [] }
        hasDeparted = true
        return abandonCall().union(.dropOutput)
    }

    // MARK: Handling calls

    mutating func beginHandling() { handling = .running }

    mutating func endHandling() { handling = isQueued ? .queued : .idle }

    /// Leaves the next calls to a later turn; returns false if they wait for one already.
    mutating func queue() -> Bool {
        if isQueued { return false }
        handling = isHandling ? .runningLast : .queued
        return true
    }

    /// The next calls may be handled in this turn.
    mutating func turnCame() { handling = .idle }

    // MARK: The call that is being answered

    /// Makes a call the current one.
    mutating func callBegan() { state = .answering }

    /// The handler has returned; if the client has left, the call is abandoned, because its answer would be lost.
    mutating func handlerReturned() -> Effects { hasDeparted ? abandonCall() : [] }

    /// A stream answers the current call.
    mutating func streamBegan() {
        if case .answering = state { state = .streaming }
    }

    /// The current call is answered in pieces.
    mutating func writingBegan() {
        if case .answering = state { state = .writing }
    }

    /// The last piece of the reply has been written.
    mutating func writingEnded() {
        if case .writing = state { state = .reading }
    }

    /// The current call has been answered.
    mutating func callEnded() -> Effects {
        guard isAnswering else { return [] }
        // The code that is handling calls continues by itself.
        state = isHandling ? .reading : .resuming
        return isHandling ? [] : .resume
    }

    /// The turn in which a call was answered has ended.
    mutating func resume() {
        if case .resuming = state { state = .reading }
    }

    /// The current call can no longer be answered.
    ///
    /// If the service is ending, the client can still read earlier replies.
    mutating func callWasDropped() -> Effects {
        guard isAnswering else { return [] }
        return isStopped ? abandonCall() : .close
    }

    /// The stream has written everything, or waits for room.
    mutating func streamPaused(isHungry: Bool) -> Effects {
        guard case .streaming = state, isStopped, !isHungry else { return [] }
        return abandonCall()
    }

    private mutating func abandonCall() -> Effects {
        guard isAnswering else { return [] }
        state = .reading
        return .abandonCall
    }

    // MARK: The end

    private var isStopped: Bool { if case .stopped = input { true } else { false } }

    /// The service is ending, and takes no more calls.
    mutating func stopReading() { input = .stopped }

    /// The service has ended; pending replies and the rest of a stream are still sent.
    mutating func drain() -> Effects {
        input = .stopped
        switch state {
        case .answering: return abandonCall()
        case .streaming: return .wakeStream
        case .reading, .writing, .resuming, .draining, .closed: return []
        }
    }

    /// Returns the expected event, after all input has been handled.
    mutating func settle(unsent: Int) -> Expectation {
        if isDone(unsent: unsent) { state = .draining }
        switch state {
        case .closed: return .end
        case .draining where unsent == 0: return .end
        default: break
        }
        if mayRead(unsent: unsent) { return .input }
        return hasDeparted ? .nothing : .departure
    }

    /// Whether only replies are left to send.
    private func isDone(unsent: Int) -> Bool {
        guard case .reading = state, handling == .idle else { return false }
        switch input {
        case .open: return false
        // Calls that were read may wait for room.
        case .ended: return unsent < maximumUnsent
        case .refused, .stopped: return true
        }
    }

    /// Closes the connection; returns nil if it was closed already.
    mutating func close() -> Effects? {
        guard !isClosed else { return nil }
        defer { state = .closed }
        return abandonCall()
    }
}
