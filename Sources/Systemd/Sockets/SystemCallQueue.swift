// SPDX-License-Identifier: Apache-2.0

/// System calls that wait for a thread.
///
/// For half of the time, short calls come first, in which owners take turns; else long ones, those of the owner first that has taken least. So thousands of owners with long calls, each of which has taken little, do not delay a call that takes microseconds.
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
    /// Owners whose last call was slow; what they have counts as long until a call of theirs is not.
    private var slow: Set<UInt32> = []
    /// How many calls wait.
    private(set) var count = 0

    /// Adds a call of an owner; it may overtake others of the same owner.
    mutating func append(_ call: @escaping Call, of owner: UInt32, isLong: Bool) {
        count += 1
        if isLong || slow.contains(owner) { long.append(call, of: owner) } else { short.append(call, of: owner) }
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
        if wasSlow { slow.insert(owner) } else { slow.remove(owner) }
        if count == 0, slow.count > Self.ownersToKeep { slow = [] }
    }
}
