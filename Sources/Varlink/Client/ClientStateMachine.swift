// SPDX-License-Identifier: Apache-2.0

/// Decides which call the next message answers, and what happens to its caller.
///
/// A service answers calls in order, and the protocol cannot cancel a call. The replies to a caller that has left are
/// therefore read and dropped (draining). Draining is limited, because a stream may never end.
struct ClientStateMachine: ~Copyable {
    typealias Ticket = PendingCalls.Ticket

    /// What the connection must do after an input.
    struct Effects: Equatable {
        /// This caller gets the message.
        var delivery: Ticket?
        /// This caller gets a `CancellationError`.
        var cancelled: Ticket?
        /// These callers get ``failure``.
        var failed: [Ticket] = []
        var failure: VarlinkClientError?
        /// What to do with the timer that limits draining.
        var drainTimer: DrainTimer?
        /// Whether to close the socket.
        var closes = false
    }

    enum DrainTimer: Equatable { case start, stop }

    /// How much may be dropped for callers that have left before the connection is closed.
    struct Limits {
        /// How many replies of one stream.
        var streamReplies = 4096
        /// How many bytes of one stream.
        var streamBytes = 4 * 1024 * 1024
        /// How long one stream may be dropped.
        var streamTime = Duration.seconds(5)
        /// How many calls may be abandoned at the same time.
        var calls = 256
    }

    private enum State {
        /// No reply is expected.
        case idle
        /// The caller of the first call gets the next message, once it waits for it.
        case awaiting
        /// The caller of the first call has left; these replies and bytes were dropped for it.
        case draining(replies: Int, bytes: Int)
        /// No more replies can come.
        case closed(VarlinkClientError)
    }

    private let limits: Limits
    private var state = State.idle
    private var calls = PendingCalls()

    init(limits: Limits = Limits()) { self.limits = limits }

    /// Whether the connection should read the next message and give it to the machine.
    ///
    /// A slow caller therefore slows the service down, instead of filling this process's memory.
    var wantsMessage: Bool {
        switch state {
        case .awaiting: calls.firstCaller == .waiting
        case .draining: true
        case .idle, .closed: false
        }
    }

    /// Throws if no further call may be made.
    func checkMayCall() throws(VarlinkClientError) {
        if case .closed(let error) = state { throw error }
    }

    // MARK: Inputs from callers

    /// Adds a call and returns its ticket.
    mutating func call(_ kind: PendingCalls.Kind) throws(VarlinkClientError) -> Ticket {
        try checkMayCall()
        let ticket = calls.append(kind)
        if case .idle = state { state = .awaiting }
        return ticket
    }

    /// A caller waits for the next reply to its call.
    mutating func wait(_ ticket: Ticket) -> Effects {
        switch state {
        case .idle, .awaiting, .draining: calls.wait(ticket) ? Effects() : Effects(cancelled: ticket)
        case .closed(let error): Effects(failed: [ticket], failure: error)
        }
    }

    /// A caller has left, or has released its stream.
    mutating func cancel(_ ticket: Ticket) -> Effects {
        guard let caller = calls.leave(ticket) else { return Effects() }
        var effects = calls.abandonedCount > limits.calls ? fail(.tooManyAbandoned) : Effects()
        if caller == .waiting { effects.cancelled = ticket }
        if case .awaiting = state, ticket == calls.first { drainFirst(&effects) }
        return effects
    }

    /// A caller's timeout has expired.
    ///
    /// Replies come in order, so no later call can be answered either.
    mutating func timeOut(_ ticket: Ticket, _ error: VarlinkClientError) -> Effects {
        calls.isWaiting(ticket) ? fail(error) : Effects()
    }

    // MARK: Inputs from the service

    /// A whole message was read.
    mutating func message(bytes: Int, continues: Bool, isError: Bool) -> Effects {
        precondition(wantsMessage, "read a message that no caller expects")
        if continues, calls.firstKind != .stream || isError { return fail(.tooManyReplies) }
        switch state {
        case .draining(let replies, let size): return drop(continues, replies: replies + 1, bytes: size + bytes)
        case .idle, .awaiting, .closed: return deliver(continues)
        }
    }

    /// The time for dropping a stream has expired.
    mutating func drainTimeOut() -> Effects {
        guard case .draining = state, calls.firstKind == .stream else { return Effects() }
        return fail(.endlessStream)
    }

    /// The connection ends: either side closed it, or the service does not speak Varlink.
    mutating func fail(_ error: VarlinkClientError) -> Effects {
        if case .closed = state { return Effects() }
        let stop: DrainTimer? = isDrainingStream ? .stop : nil
        state = .closed(error)
        return Effects(failed: calls.removeAll(), failure: error, drainTimer: stop, closes: true)
    }

    // MARK: -

    private var isDrainingStream: Bool {
        if case .draining = state { calls.firstKind == .stream } else { false }
    }

    private mutating func deliver(_ continues: Bool) -> Effects {
        var effects = Effects(delivery: calls.first)
        if continues { calls.satisfyFirst() } else { removeFirst(&effects) }
        return effects
    }

    private mutating func drop(_ continues: Bool, replies: Int, bytes: Int) -> Effects {
        var effects = Effects()
        if continues {
            guard replies <= limits.streamReplies, bytes <= limits.streamBytes else { return fail(.endlessStream) }
            state = .draining(replies: replies, bytes: bytes)
        } else {
            if isDrainingStream { effects.drainTimer = .stop }
            removeFirst(&effects)
        }
        return effects
    }

    private mutating func removeFirst(_ effects: inout Effects) {
        calls.removeFirst()
        switch calls.firstCaller {
        case nil: state = .idle
        case .gone: drainFirst(&effects)
        case .busy, .waiting: state = .awaiting
        }
    }

    private mutating func drainFirst(_ effects: inout Effects) {
        state = .draining(replies: 0, bytes: 0)
        if calls.firstKind == .stream { effects.drainTimer = .start }
    }
}
