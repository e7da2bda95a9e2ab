// SPDX-License-Identifier: Apache-2.0

/// The unanswered calls, in the order of their replies.
struct PendingCalls {
    /// The position of a call in that order.
    typealias Ticket = Int

    /// The replies that a call expects.
    enum Kind: Sendable, CaseIterable {
        /// One reply.
        case single
        /// Replies until the service ends them.
        case stream
    }

    /// The state of a call's caller.
    enum Caller {
        /// It has not asked for the next reply yet.
        case busy
        /// It waits for the next reply.
        case waiting
        /// It has left, and its replies are dropped.
        case gone
    }

    private struct Call {
        let kind: Kind
        var caller = Caller.busy
    }

    private var calls: [Ticket: Call] = [:]
    private(set) var first: Ticket = 0
    private var next: Ticket = 0
    /// How many callers have left.
    private(set) var abandonedCount = 0

    /// The kind of the first call; nil if there is none.
    var firstKind: Kind? { calls[first]?.kind }
    /// The state of the first call's caller; nil if there is no call.
    var firstCaller: Caller? { calls[first]?.caller }

    mutating func append(_ kind: Kind) -> Ticket {
        calls[next] = Call(kind: kind)
        next += 1
        return next - 1
    }

    /// The first call has been answered completely.
    mutating func removeFirst() {
        if calls.removeValue(forKey: first)?.caller == .gone { abandonedCount -= 1 }
        first += 1
    }

    /// The caller of the first call has its reply and has not asked for another yet.
    mutating func satisfyFirst() { calls[first]?.caller = .busy }

    /// A caller waits for its next reply; returns false if the call was abandoned or answered.
    mutating func wait(_ ticket: Ticket) -> Bool {
        guard let caller = calls[ticket]?.caller, caller != .gone else { return false }
        precondition(caller == .busy, "the replies of a stream have one consumer")
        calls[ticket]?.caller = .waiting
        return true
    }

    /// A caller has left; returns its previous state, or nil if the call was answered or abandoned before.
    mutating func leave(_ ticket: Ticket) -> Caller? {
        guard let caller = calls[ticket]?.caller, caller != .gone else { return nil }
        calls[ticket]?.caller = .gone
        abandonedCount += 1
        return caller
    }

    func isWaiting(_ ticket: Ticket) -> Bool { calls[ticket]?.caller == .waiting }

    /// Removes all calls; returns those whose callers wait, in order.
    mutating func removeAll() -> [Ticket] {
        let waiting = calls.filter { $0.value.caller == .waiting }.keys.sorted()
        calls = [:]
        first = next
        abandonedCount = 0
        return waiting
    }
}
