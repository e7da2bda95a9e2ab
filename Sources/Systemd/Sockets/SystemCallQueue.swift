// SPDX-License-Identifier: Apache-2.0

/// System calls that wait for a thread.
///
/// For half of the time, short calls come first, and their owners take turns; else long ones, those of the owner first that has taken least. So thousands of
/// owners with long calls, each of which has taken little, do not delay a call that takes microseconds.
struct SystemCallQueue {
    typealias Call = @Sendable () -> Void

    /// After so many nanoseconds of short calls, or as many as the long one before has taken, there is a long one.
    private static let limit: UInt64 = 1_000_000
    /// What takes more processor time is slow, in nanoseconds.
    static let longestShort: UInt64 = 100_000
    /// More owners than these are not remembered while nothing waits.
    private static let ownersToKeep = 1024

    private var short = FairQueue<Call>()
    private var long = FairQueue<Call>(credit: limit)
    /// What short calls have taken since the last long one, and what they may take.
    private var takenByShort: UInt64 = 0
    private var shareOfShort = limit
    /// How many more calls of an owner have been slow than not, of the last few; from two on, what it has counts as long.
    private var slowness: [UInt32: Int] = [:]
    /// How many calls wait.
    private(set) var count = 0

    /// Adds a call of an owner; it may overtake others of the same owner.
    mutating func append(_ call: @escaping Call, of owner: UInt32, isLong: Bool) {
        count += 1
        if isLong || isSlow(owner) { long.append(call, of: owner) } else { short.append(call, of: owner) }
    }

    /// Takes the call that comes next.
    mutating func popFirst() -> (call: Call, owner: UInt32, isLong: Bool)? {
        guard count > 0 else { return nil }
        count -= 1
        if takenByShort < shareOfShort || long.isEmpty, let (call, owner) = short.popFirst() {
            return (call, owner, false)
        }
        takenByShort = 0
        return long.popFirst().map { ($0.element, $0.owner, true) }
    }

    /// Charges what a call has taken to its owner, in nanoseconds.
    ///
    /// - Parameter wasSlow: whether that was more processor time than a short call takes.
    mutating func charge(_ nanoseconds: UInt64, to owner: UInt32, isLong: Bool, wasSlow: Bool) {
        if isLong { shareOfShort = max(Self.limit, nanoseconds) } else { takenByShort += nanoseconds }
        long.charge(nanoseconds, to: owner)
        note(wasSlow, of: owner)
    }

    /// Whether an owner was slow more than once: one slow call may be one that was interrupted.
    private func isSlow(_ owner: UInt32) -> Bool { slowness[owner] ?? 0 >= 2 }

    private mutating func note(_ wasSlow: Bool, of owner: UInt32) {
        let former = slowness[owner]
        if wasSlow {
            slowness[owner] = min(3, (former ?? 0) + 1)
        } else if let former {
            slowness[owner] = former > 1 ? former - 1 : nil
        }
        if count == 0, slowness.count > Self.ownersToKeep { slowness = [:] }
    }
}
