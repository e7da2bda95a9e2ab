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

    private enum State: ~Copyable {
        /// The service answers these calls, in order.
        case open(PendingCalls)
        /// No more replies can come.
        case closed(VarlinkClientError)
    }

    private let limits: Limits
    private var state: State

    init(limits: Limits = Limits()) { self.init(.open(PendingCalls()), limits) }

    private init(_ state: consuming State, _ limits: Limits) {
        self.state = state
        self.limits = limits
    }

    /// Whether the connection should read the next message and give it to the machine.
    ///
    /// A slow caller therefore slows the service down, instead of filling this process's memory.
    var wantsMessage: Bool {
        switch state {
        case .open(let calls): calls.firstCaller.map { $0 != .busy } ?? false
        case .closed: false
        }
    }

    private var failure: VarlinkClientError? {
        switch state {
        case .open: nil
        case .closed(let error): error
        }
    }

    /// Throws if no further call may be made.
    func checkMayCall() throws(VarlinkClientError) { if let failure { throw failure } }

    // MARK: Inputs from callers

    /// Adds a call and returns its ticket.
    mutating func call(_ kind: PendingCalls.Kind) throws(VarlinkClientError) -> Ticket {
        switch consume state {
        case .open(var calls):
            let ticket = calls.append(kind)
            self = Self(.open(calls), limits)
            return ticket
        case .closed(let error):
            self = Self(.closed(error), limits)
            throw error
        }
    }

    /// A caller waits for the next reply to its call.
    mutating func wait(_ ticket: Ticket) -> Effects {
        if let failure { return Effects(failed: [ticket], failure: failure) }
        return change { calls, effects in if !calls.wait(ticket) { effects.cancelled = ticket } }
    }

    /// A caller has left, or has released its stream.
    mutating func cancel(_ ticket: Ticket) -> Effects {
        change { [limits] calls, effects throws(VarlinkClientError) in
            if calls.leave(ticket) == .waiting { effects.cancelled = ticket }
            if calls.abandonedCount > limits.calls { throw .tooManyAbandoned }
        }
    }

    /// A caller's timeout has expired.
    ///
    /// Replies come in order, so no later call can be answered either.
    mutating func timeOut(_ ticket: Ticket, _ error: VarlinkClientError) -> Effects {
        change { calls, _ throws(VarlinkClientError) in if calls.isWaiting(ticket) { throw error } }
    }

    // MARK: Inputs from the service

    /// A whole message was read.
    mutating func message(bytes: Int, continues: Bool, isError: Bool) -> Effects {
        precondition(wantsMessage, "read a message that no caller expects")
        return change { [limits] calls, effects throws(VarlinkClientError) in
            if continues, calls.firstKind != .stream || isError { throw .tooManyReplies }
            if case .gone(var dropped) = calls.firstCaller {
                dropped.replies += 1
                dropped.bytes += bytes
                let isWithin = dropped.replies <= limits.streamReplies && dropped.bytes <= limits.streamBytes
                guard isWithin || !continues else { throw .endlessStream }
                calls.firstCaller = .gone(dropped)
            } else {
                effects.delivery = calls.first
                calls.firstCaller = .busy
            }
            if !continues { calls.removeFirst() }
        }
    }

    /// The time for dropping a stream has expired.
    mutating func drainTimeOut() -> Effects {
        change { calls, _ throws(VarlinkClientError) in if calls.drainedStream != nil { throw .endlessStream } }
    }

    /// The connection ends: either side closed it, or the service does not speak Varlink.
    mutating func fail(_ error: VarlinkClientError) -> Effects {
        change { _, _ throws(VarlinkClientError) in throw error }
    }

    // MARK: -

    /// Changes the calls of an open connection; closes it if `body` throws.
    private mutating func change(
        _ body: (inout PendingCalls, inout Effects) throws(VarlinkClientError) -> Void
    ) -> Effects {
        var effects = Effects()
        switch consume state {
        case .open(var calls):
            let drained = calls.drainedStream
            do throws(VarlinkClientError) {
                try body(&calls, &effects)
                if calls.drainedStream != drained { effects.drainTimer = calls.drainedStream == nil ? .stop : .start }
                self = Self(.open(calls), limits)
            } catch {
                (effects.failed, effects.failure, effects.closes) = (calls.waiting, error, true)
                if drained != nil { effects.drainTimer = .stop }
                self = Self(.closed(error), limits)
            }
        case .closed(let error): self = Self(.closed(error), limits)
        }
        return effects
    }
}
