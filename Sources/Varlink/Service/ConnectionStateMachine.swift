// SPDX-License-Identifier: Apache-2.0

/// Decides what a service's connection does next.
///
/// It hands out one call at a time; the next call waits until this one is answered. A connection alternates between
/// reading and answering, writing or streaming. At the end it takes no more calls, sends the remaining replies, and is
/// closed.
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

    /// What happens to the client's calls.
    private enum State {
        /// The next call is handled when it comes.
        case idle
        /// Calls are being handled, further up the stack.
        case handling
        /// Calls are being handled, and this is the answer to the current one.
        case calling(Answer)
        /// The current call is answered later.
        case answering(Answer)
        /// A call was answered, and the next ones are handled at the end of the turn.
        case resuming
        /// The next calls wait for the next turn.
        case queued
        case closed
    }

    private enum Answer { case reply, pieces, stream }

    private enum Input {
        /// The client may send more; there may be something to read.
        case open(isReadable: Bool)
        /// The client sends no more; calls that were read are still handled.
        case ended
        /// Calls that were read are dropped: the service is ending, or the client sent something that is not a call.
        case refused(isStopping: Bool)
    }

    private var state = State.idle
    private var input = Input.open(isReadable: false)
    /// Whether the client reads no more.
    private var hasDeparted = false
    /// How many bytes of replies may be unsent before calls have to wait.
    private let maximumUnsent: Int

    init(maximumUnsent: Int) { self.maximumUnsent = maximumUnsent }

    // MARK: Facts

    var isClosed: Bool { if case .closed = state { true } else { false } }

    /// Whether a reply can still reach the client.
    var mayReply: Bool { !isClosed && !hasDeparted }

    /// Whether there is a current call.
    var isAnswering: Bool { answer != nil }

    /// Whether a reply is being written in pieces, which begins after its call was handled.
    var isWriting: Bool { if case .answering(.pieces) = state { true } else { false } }

    private var answer: Answer? {
        switch state {
        case .calling(let answer), .answering(let answer): answer
        case .idle, .handling, .resuming, .queued, .closed: nil
        }
    }

    /// Whether calls are neither being handled nor waiting.
    var mayBeginHandling: Bool { if case .idle = state { true } else { false } }

    /// Whether calls are being handled, further up the stack.
    var isHandling: Bool {
        switch state {
        case .handling, .calling: true
        case .idle, .answering, .resuming, .queued, .closed: false
        }
    }

    /// Whether the next calls wait for the next turn.
    var isQueued: Bool { if case .queued = state { true } else { false } }

    /// Whether the next call may be handed out.
    func mayHandle(unsent: Int) -> Bool {
        switch state {
        case .idle, .handling, .queued: unsent < maximumUnsent && !isRefused
        case .calling, .answering, .resuming, .closed: false
        }
    }

    private var isRefused: Bool { if case .refused = input { true } else { false } }

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
        if !isRefused { input = .refused(isStopping: false) }
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

    mutating func beginHandling() { state = .handling }

    mutating func endHandling() {
        if case .handling = state {
            state = .idle
        } else if case .calling(let answer) = state {
            state = .answering(answer)
        }
    }

    /// Leaves the next calls to the next turn, and ends handling; returns false if they wait for something already.
    mutating func queue() -> Bool {
        switch state {
        case .idle, .handling:
            state = .queued
            return true
        case .calling, .answering, .resuming, .queued, .closed: return false
        }
    }

    /// The next calls may be handled in this turn.
    mutating func turnCame() {
        if case .queued = state { state = .idle }
    }

    // MARK: The call that is being answered

    /// Makes a call the current one.
    mutating func callBegan() { state = isHandling ? .calling(.reply) : .answering(.reply) }

    /// The handler has returned; if the client has left, the call is abandoned, because its answer would be lost.
    mutating func handlerReturned() -> Effects { hasDeparted ? abandonCall() : [] }

    /// A stream answers the current call.
    mutating func streamBegan() { answer(with: .stream) }

    /// The current call is answered in pieces.
    mutating func writingBegan() { answer(with: .pieces) }

    private mutating func answer(with answer: Answer) {
        if self.answer == .reply { state = isHandling ? .calling(answer) : .answering(answer) }
    }

    /// The last piece of the reply has been written.
    mutating func writingEnded() {
        if isWriting { state = .idle }
    }

    /// The current call has been answered.
    mutating func callEnded() -> Effects {
        switch state {
        // The code that is handling calls continues by itself.
        case .calling: state = .handling
        case .answering:
            state = .resuming
            return .resume
        case .idle, .handling, .resuming, .queued, .closed: break
        }
        return []
    }

    /// The turn in which a call was answered has ended.
    mutating func resume() {
        if case .resuming = state { state = .idle }
    }

    /// The current call can no longer be answered.
    ///
    /// If the service is ending, the client can still read earlier replies.
    mutating func callWasDropped() -> Effects {
        guard isAnswering else { return [] }
        return isStopping ? abandonCall() : .close
    }

    /// The stream has written everything, or waits for room.
    mutating func streamPaused(isHungry: Bool) -> Effects {
        guard answer == .stream, isStopping, !isHungry else { return [] }
        return abandonCall()
    }

    private mutating func abandonCall() -> Effects {
        guard isAnswering else { return [] }
        endCall()
        return .abandonCall
    }

    private mutating func endCall() { state = isHandling ? .handling : .idle }

    // MARK: The end

    private var isStopping: Bool { if case .refused(isStopping: true) = input { true } else { false } }

    /// The service is ending, and takes no more calls.
    mutating func stopReading() { input = .refused(isStopping: true) }

    /// The service has ended; pending replies and the rest of a stream are still sent.
    mutating func drain() -> Effects {
        stopReading()
        return switch answer {
        case .reply: abandonCall()
        case .stream: .wakeStream
        case .pieces, nil: []
        }
    }

    /// Returns the expected event, after all input has been handled.
    func settle(unsent: Int) -> Expectation {
        switch (state, input) {
        case (.closed, _): return .end
        // Only replies are left to send.
        case (.idle, .ended), (.idle, .refused): if unsent == 0 { return .end }
        default: break
        }
        if mayRead(unsent: unsent) { return .input }
        return hasDeparted ? .nothing : .departure
    }

    /// Closes the connection; returns nil if it was closed already.
    mutating func close() -> Effects? {
        guard !isClosed else { return nil }
        defer { state = .closed }
        return abandonCall()
    }
}
