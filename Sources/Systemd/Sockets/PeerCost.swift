// SPDX-License-Identifier: Apache-2.0

import Glibc

/// What calls on sockets cost whose peers may make them slow (``ForeignSocket``), on threads that are not the loop's.
struct PeerCost {
    /// What a call to an ordinary peer may take, in nanoseconds.
    private static let acceptable: UInt64 = 100_000
    /// What a call takes that is charged to the peer's user, in nanoseconds of processor time.
    private static let excessive: UInt64 = 1_000_000
    /// After so long there is a pause, in nanoseconds.
    private static let patience: UInt64 = 1_000_000

    private let begin = nanoseconds(of: CLOCK_MONOTONIC)
    /// The processor time of this thread when it was looked at last.
    private var processorTime = nanoseconds(of: CLOCK_THREAD_CPUTIME_ID)
    /// What calls have taken that took too long, in nanoseconds of processor time.
    private(set) var excess: UInt64 = 0

    /// Whether it is time to let others go first.
    var isUsedUp: Bool { nanoseconds(of: CLOCK_MONOTONIC) - begin >= Self.patience }

    /// Makes a call; returns its result and whether it took no longer than it should.
    mutating func measure<Result>(_ call: () -> Result) -> (result: Result, isCheap: Bool) {
        let begin = nanoseconds(of: CLOCK_MONOTONIC)
        let result = call()
        if nanoseconds(of: CLOCK_MONOTONIC) - begin < Self.acceptable { return (result, true) }
        // Not if the thread only had to wait for a processor.
        let taken = nanoseconds(of: CLOCK_THREAD_CPUTIME_ID) - processorTime
        processorTime += taken
        if taken >= Self.excessive { excess += taken }
        return (result, taken < Self.acceptable)
    }

    /// How much is received at a time: each byte may be a message of its own, that wakes what watches the peer.
    enum Step: Int {
        /// From a user who is known to cost much.
        case suspect = 1
        /// From somebody unknown.
        case cautious = 8
        /// From a peer that has cost little until now.
        case ordinary = 16_384
    }

    /// Has `receive` receive up to so many bytes, few at first, until the time is used up.
    ///
    /// Returns how much of `count` is left then; 0 if everything has been received, or nothing more is there.
    mutating func receive(upTo count: Int, _ longestStep: Step, _ receive: (Int) -> Int) -> Int {
        var (left, step) = (count, 1)
        while left > 0 {
            let (received, isCheap) = measure { receive(min(left, step)) }
            if received <= 0 { return 0 }
            left -= received
            if left > 0, isUsedUp { return left }
            step = isCheap ? min(step * 4, longestStep.rawValue) : 1
        }
        return 0
    }

    /// Has `receive` receive whatever there is; leaves the processors to others if that takes long.
    static func receiveAll(_ receive: (Int) -> Int) {
        while true {
            var cost = PeerCost()
            if cost.receive(upTo: .max, .ordinary, receive) == 0 { return }
            rest(nanoseconds(of: CLOCK_MONOTONIC) - cost.begin)
        }
    }

    /// Sleeps for so many nanoseconds, whatever signals come (``SystemCallThreads``).
    private static func rest(_ time: UInt64) {
        let end = nanoseconds(of: CLOCK_MONOTONIC) + time
        while case let now = nanoseconds(of: CLOCK_MONOTONIC), now < end {
            usleep(useconds_t(min(end - now, 500_000_000) / 1000 + 1))
        }
    }
}
