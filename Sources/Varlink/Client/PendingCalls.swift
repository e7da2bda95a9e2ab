// SPDX-License-Identifier: Apache-2.0

/// The unanswered calls, in the order of their replies.
struct PendingCalls: ~Copyable {
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
    enum Caller: Equatable {
        /// It has not asked for the next reply yet.
        case busy
        /// It waits for the next reply.
        case waiting
        /// It has left, and its replies are dropped; these were so far.
        case gone(Dropped)

        var isGone: Bool { if case .gone = self { true } else { false } }
    }

    struct Dropped: Equatable {
        var replies = 0
        var bytes = 0
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
    var firstCaller: Caller? {
        get { calls[first]?.caller }
        set { if let newValue { calls[first]?.caller = newValue } }
    }
    /// The first call, if it is a stream whose caller has left.
    var drainedStream: Ticket? { firstKind == .stream && firstCaller?.isGone == true ? first : nil }
    /// The calls whose callers wait, in order.
    var waiting: [Ticket] { calls.filter { $0.value.caller == .waiting }.keys.sorted() }

    mutating func append(_ kind: Kind) -> Ticket {
        calls[next] = Call(kind: kind)
        next += 1
        return next - 1
    }

    /// The first call has been answered completely.
    mutating func removeFirst() {
        if calls.removeValue(forKey: first)?.caller.isGone == true { abandonedCount -= 1 }
        first += 1
    }

    /// A caller waits for its next reply; returns false if the call was abandoned or answered.
    mutating func wait(_ ticket: Ticket) -> Bool {
        guard let caller = calls[ticket]?.caller, !caller.isGone else { return false }
        precondition(caller == .busy, "the replies of a stream have one consumer")
        calls[ticket]?.caller = .waiting
        return true
    }

    /// A caller has left; returns its previous state, or nil if the call was answered or abandoned before.
    mutating func leave(_ ticket: Ticket) -> Caller? {
        guard let caller = calls[ticket]?.caller, !caller.isGone else { return nil }
        calls[ticket]?.caller = .gone(Dropped())
        abandonedCount += 1
        return caller
    }

    func isWaiting(_ ticket: Ticket) -> Bool { calls[ticket]?.caller == .waiting }
}
