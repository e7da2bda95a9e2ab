// SPDX-License-Identifier: Apache-2.0

/// System calls that wait for a thread.
///
/// For half of the time, short calls come first, and their owners take turns. For the other half, long calls come first, those of the owner
/// that has taken least. So thousands of owners with long calls, each of which has taken little, do not delay a call that takes
/// microseconds.
struct SystemCallQueue {
    typealias Call = @Sendable () -> Void

    private struct Waiting {
        let call: Call
        /// Whether the caller declared it long.
        let isMuch: Bool
    }

    /// A call that has left the queue.
    struct Taken {
        let call: Call
        let owner: UInt32
        /// Whether it was in the queue of long calls.
        let isLong: Bool
        fileprivate let isMuch: Bool
    }

    /// Short calls run for so many nanoseconds, or for as long as the last long call took if that is more; then a long call comes.
    private static let limit: UInt64 = 1_000_000
    /// A call that takes more processor time is slow, in nanoseconds.
    private static let longestShort: UInt64 = 100_000
    /// If an owner's slow calls took this much more than its other calls since, its next ones count as long, in nanoseconds.
    private static let tolerance: UInt64 = 200_000
    /// More owners than these are not remembered while the queue is empty.
    private static let ownersToKeep = 1024

    private var short = FairQueue<Waiting>()
    private var long = FairQueue<Waiting>(credit: limit)
    /// What short calls have taken since the last long one, and their limit.
    private var takenByShort: UInt64 = 0
    private var shareOfShort = limit
    /// How much more processor time each owner has taken with slow calls than with others since.
    ///
    /// Only calls not declared long count.
    private var slowness: [UInt32: UInt64] = [:]
    /// The number of calls that wait.
    private(set) var count = 0

    /// Adds a call of an owner; it may overtake others of the same owner.
    ///
    /// - Parameter isMuch: whether it is known to be long. The calls of an owner whose short calls were slow count as long, too.
    mutating func append(_ call: @escaping Call, of owner: UInt32, isMuch: Bool) {
        count += 1
        let waiting = Waiting(call: call, isMuch: isMuch)
        if isMuch || isSlow(owner) { long.append(waiting, of: owner) } else { short.append(waiting, of: owner) }
    }

    /// Takes the next call.
    mutating func popFirst() -> Taken? {
        guard count > 0 else { return nil }
        count -= 1
        if takenByShort < shareOfShort || long.isEmpty, let (waiting, owner) = short.popFirst() {
            return Taken(call: waiting.call, owner: owner, isLong: false, isMuch: waiting.isMuch)
        }
        takenByShort = 0
        return long.popFirst().map { waiting, owner in
            Taken(call: waiting.call, owner: owner, isLong: true, isMuch: waiting.isMuch)
        }
    }

    /// Charges what a call took to its owner, in nanoseconds.
    mutating func charge(_ nanoseconds: UInt64, processorTime: UInt64, for taken: Taken) {
        if taken.isLong { shareOfShort = max(Self.limit, nanoseconds) } else { takenByShort += nanoseconds }
        long.charge(nanoseconds, to: taken.owner)
        if !taken.isMuch { note(processorTime, of: taken.owner) }
    }

    /// Whether an owner's short calls are slow; a little may be due to interruptions.
    private func isSlow(_ owner: UInt32) -> Bool { slowness[owner] ?? 0 > Self.tolerance }

    private mutating func note(_ processorTime: UInt64, of owner: UInt32) {
        if processorTime > Self.longestShort {
            slowness[owner, default: 0] += processorTime
        } else if let former = slowness[owner] {
            slowness[owner] = former > processorTime ? former - processorTime : nil
        }
        if count == 0, slowness.count > Self.ownersToKeep { slowness = [:] }
    }
}
