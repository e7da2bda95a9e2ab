// SPDX-License-Identifier: Apache-2.0

/// The calls that have not been answered to their end, in the order of their replies.
struct PendingCalls {
    /// The place of a call in that order.
    typealias Ticket = Int

    /// What is expected in answer to a call.
    enum Kind: Sendable, CaseIterable {
        /// One reply.
        case single
        /// Replies until the service ends them.
        case stream
        /// One reply; the connection speaks another protocol after it.
        case upgrade
    }

    /// What the caller of a call does.
    enum Caller {
        /// It has not asked for the next reply yet.
        case busy
        /// It waits for the next reply.
        case waiting
        /// It has left, and nobody wants the replies.
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
    /// Whether the last call asks for another protocol, so that none may follow it.
    private(set) var endWithUpgrade = false

    /// What answers to the first call look like; nil if there is none.
    var firstKind: Kind? { calls[first]?.kind }
    /// What the first call's caller does; nil if there is no call.
    var firstCaller: Caller? { calls[first]?.caller }

    mutating func append(_ kind: Kind) -> Ticket {
        calls[next] = Call(kind: kind)
        endWithUpgrade = kind == .upgrade
        next += 1
        return next - 1
    }

    /// The first call has been answered to its end.
    mutating func removeFirst() {
        if calls.removeValue(forKey: first)?.caller == .gone { abandonedCount -= 1 }
        first += 1
        if calls.isEmpty { endWithUpgrade = false }
    }

    /// The first call's caller has its reply and has not asked for another one yet.
    mutating func satisfyFirst() { calls[first]?.caller = .busy }

    /// A caller waits for its next reply; returns false if nobody wants the replies to that call any more.
    mutating func wait(_ ticket: Ticket) -> Bool {
        guard let caller = calls[ticket]?.caller, caller != .gone else { return false }
        precondition(caller == .busy, "the replies of a stream have one consumer")
        calls[ticket]?.caller = .waiting
        return true
    }

    /// A caller has left; returns what it did before, nil if the call has been answered or abandoned before.
    mutating func leave(_ ticket: Ticket) -> Caller? {
        guard let caller = calls[ticket]?.caller, caller != .gone else { return nil }
        calls[ticket]?.caller = .gone
        abandonedCount += 1
        return caller
    }

    func isWaiting(_ ticket: Ticket) -> Bool { calls[ticket]?.caller == .waiting }

    /// Forgets all calls; returns those whose callers wait, in their order.
    mutating func removeAll() -> [Ticket] {
        let waiting = calls.filter { $0.value.caller == .waiting }.keys.sorted()
        calls = [:]
        first = next
        abandonedCount = 0
        endWithUpgrade = false
        return waiting
    }
}
