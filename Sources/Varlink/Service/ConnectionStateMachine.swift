// SPDX-License-Identifier: Apache-2.0

/// Decides what a service's connection does next; does nothing itself.
///
/// Calls are handed out one at a time; the next one waits for the answer. A connection alternates between reading and answering, writing or streaming. It
/// ends in draining, when no more calls are taken but answers are still being sent, and is then closed. Or it ends in upgrading, when the answer to the
/// last call is still being sent, and is then handed over, even if the client has left: it may have sent something in the other protocol.
struct ConnectionStateMachine: ~Copyable {
    /// What the connection must do, in this order.
    struct Effects: OptionSet, Hashable {
        let rawValue: UInt8

        /// Drop what was not sent, and all that is written from now on.
        static let dropOutput = Effects(rawValue: 1)
        /// Cancel the call that was being answered, and close its stream.
        static let abandonCall = Effects(rawValue: 2)
        /// Have the stream write what it still has to say.
        static let wakeStream = Effects(rawValue: 4)
        /// Go on with the next calls at the end of this turn of the loop.
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
        /// Nothing from the client, who has left.
        case nothing
        /// Nothing at all: the connection must be closed.
        case end
        /// Nothing more in Varlink: the socket must be handed to whoever speaks the other protocol.
        case upgrade
    }

    private enum State {
        /// No call is being answered.
        case reading
        /// A call was handed out and is not answered yet.
        case answering
        /// A call is answered in pieces, the next of which may wait for a turn.
        case writing(isQueued: Bool)
        /// A call is answered by a stream.
        case streaming
        /// A call has been answered, and the next ones are handled at the end of the turn.
        case resuming
        /// No more calls are taken, but answers are still being sent.
        case draining
        /// The last call upgrades the connection to another protocol, once its answer has been sent.
        case upgrading
        case closed
    }

    private enum Input {
        /// More may come; there may be something to read.
        case open(isReadable: Bool)
        /// No more will come; calls that were read are still handled.
        case ended
        /// Whatever comes is ignored, since the client sent something that is not a call.
        case refused
        /// The service ends; calls that were read are dropped.
        case stopped
    }

    private var state = State.reading
    private var input = Input.open(isReadable: false)
    private var hasDeparted = false
    /// Whether calls are being handled, further up the stack.
    private(set) var isHandling = false
    /// Whether the next calls wait for a turn, or until streams have caught up.
    private(set) var isQueued = false
    /// How many bytes of answers may be unsent before calls have to wait.
    private let maximumUnsent: Int

    init(maximumUnsent: Int) { self.maximumUnsent = maximumUnsent }

    // MARK: Facts

    var isClosed: Bool { if case .closed = state { true } else { false } }

    /// Whether an answer can still reach the client.
    var mayReply: Bool { !isClosed && !hasDeparted }

    /// Whether a call is being answered.
    var isAnswering: Bool {
        switch state {
        case .answering, .writing, .streaming: true
        case .reading, .resuming, .draining, .upgrading, .closed: false
        }
    }

    /// Whether the next pieces of an answer may be written now.
    var mayWrite: Bool { if case .writing(isQueued: false) = state { true } else { false } }

    /// Whether calls are neither being handled nor waiting for a turn.
    var mayBeginHandling: Bool { !isHandling && !isQueued }

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
        guard case .open = input, !isQueued else { return false }
        return mayHandle(unsent: unsent)
    }

    // MARK: What the client does

    /// There is something to read.
    ///
    /// If it may not be read now, the loop announces it again once the connection expects input.
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

    /// The client reads no more; what it has sent is still handled, since oneway calls are sent in just this way.
    mutating func clientDeparted() -> Effects {
        guard mayReply else { return [] }
        hasDeparted = true
        return abandonCall().union(.dropOutput)
    }

    // MARK: Handling calls

    mutating func beginHandling() { isHandling = true }

    mutating func endHandling() { isHandling = false }

    /// Leaves the next calls to a turn of their own; returns false if they wait for one already.
    mutating func queue() -> Bool {
        defer { isQueued = true }
        return !isQueued
    }

    /// The turn of the next calls has come.
    mutating func turnCame() { isQueued = false }

    // MARK: The call that is being answered

    /// A call is handed out.
    mutating func callBegan() { state = .answering }

    /// The handler has returned: the call is answered, is answered later, or nobody would hear the answer.
    mutating func handlerReturned() -> Effects { hasDeparted ? abandonCall() : [] }

    /// The call is answered by a stream.
    mutating func streamBegan() {
        if case .answering = state { state = .streaming }
    }

    /// The call is answered in pieces.
    mutating func writingBegan() {
        if case .answering = state { state = .writing(isQueued: false) }
    }

    /// Leaves the next pieces to a later turn.
    mutating func queueWriting() {
        if case .writing = state { state = .writing(isQueued: true) }
    }

    /// The turn of the next pieces has come.
    mutating func writingTurnCame() {
        if case .writing = state { state = .writing(isQueued: false) }
    }

    /// The last piece of the answer has been written.
    mutating func writingEnded() {
        if case .writing = state { state = .reading }
    }

    /// The call has been answered to its end.
    mutating func callEnded() -> Effects {
        guard isAnswering else { return [] }
        // While calls are handled, the loop over them goes on by itself.
        state = isHandling ? .reading : .resuming
        return isHandling ? [] : .resume
    }

    /// The call has been answered with an upgrade to another protocol.
    mutating func upgradeBegan() {
        if isAnswering { state = .upgrading }
    }

    /// The end of the turn has come in which a call was answered.
    mutating func resume() {
        if case .resuming = state { state = .reading }
    }

    /// Nothing is left that could answer the call.
    ///
    /// If the service ends, the client can still read earlier answers.
    mutating func callWasDropped() -> Effects {
        guard isAnswering else { return [] }
        return isStopped ? abandonCall() : .close
    }

    /// The stream has written all it has to say, or waits for room.
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

    /// The service ends, and takes no more calls.
    mutating func stopReading() { input = .stopped }

    /// The service has ended: what was answered and what a stream has to say is still sent.
    mutating func drain() -> Effects {
        input = .stopped
        switch state {
        case .answering: return abandonCall()
        case .streaming: return .wakeStream
        case .reading, .writing, .resuming, .draining, .upgrading, .closed: return []
        }
    }

    /// What to wait for, now that everything that came has been dealt with.
    mutating func settle(unsent: Int) -> Expectation {
        if isDone(unsent: unsent) { state = .draining }
        switch state {
        case .closed: return .end
        case .draining where unsent == 0: return .end
        case .upgrading where unsent == 0: return .upgrade
        default: break
        }
        if mayRead(unsent: unsent) { return .input }
        return hasDeparted ? .nothing : .departure
    }

    /// Whether nothing is left to do but to send answers.
    private func isDone(unsent: Int) -> Bool {
        guard case .reading = state, !isQueued, !isHandling else { return false }
        switch input {
        case .open: return false
        // Calls that were read may be waiting for room.
        case .ended: return unsent < maximumUnsent
        case .refused, .stopped: return true
        }
    }

    /// Closes the connection; nil if it was closed before.
    mutating func close() -> Effects? {
        guard !isClosed else { return nil }
        defer { state = .closed }
        return abandonCall()
    }
}
