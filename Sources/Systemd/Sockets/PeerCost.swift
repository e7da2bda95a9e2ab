// SPDX-License-Identifier: Apache-2.0

import Glibc

/// What calls on sockets cost whose peers may make them slow (``ForeignSocket``), on threads that are not the loop's.
struct PeerCost {
    /// What a call to an ordinary peer may take, in nanoseconds.
    private static let acceptable: UInt64 = 100_000
    /// What a call takes that is charged to the peer's user, in nanoseconds of processor time.
    private static let excessive: UInt64 = 1_000_000
    /// How many bytes are received at a time.
    private static let step = 16
    /// After so long there is a pause, in nanoseconds.
    private static let patience: UInt64 = 1_000_000

    private let begin = nanoseconds(of: CLOCK_MONOTONIC)
    /// The processor time of this thread when it was looked at last.
    private var processorTime = nanoseconds(of: CLOCK_THREAD_CPUTIME_ID)
    /// What calls have taken that took too long, in nanoseconds of processor time.
    private(set) var excess: UInt64 = 0

    /// Whether it is time to let others go first.
    var isUsedUp: Bool { nanoseconds(of: CLOCK_MONOTONIC) - begin >= Self.patience }

    /// Makes a call.
    mutating func measure<Result>(_ call: () -> Result) -> Result {
        let before = nanoseconds(of: CLOCK_MONOTONIC)
        defer { _ = note(nanoseconds(of: CLOCK_MONOTONIC) - before) }
        return call()
    }

    /// Notes how long a call has taken by the clock; returns whether that was no longer than it should.
    private mutating func note(_ time: UInt64) -> Bool {
        if time < Self.acceptable { return true }
        // Not if the thread only had to wait for a processor.
        let taken = nanoseconds(of: CLOCK_THREAD_CPUTIME_ID) - processorTime
        processorTime += taken
        if taken >= Self.excessive { excess += taken }
        return taken < Self.acceptable
    }

    /// Has `receive` receive up to so many bytes, until the time is used up: a few at a time, since each may be a message that wakes what watches the peer; one if
    /// the peer is suspect.
    ///
    /// That one message was cheap says nothing about the next: a full queue wakes nobody before three quarters of it have been received.
    ///
    /// Returns how much of `count` is left then; 0 if everything has been received, or nothing more is there.
    mutating func receive(upTo count: Int, isSuspect: Bool = false, _ receive: (Int) -> Int) -> Int {
        var (left, before) = (count, nanoseconds(of: CLOCK_MONOTONIC))
        var step = isSuspect ? 1 : Self.step
        while left > 0 {
            let received = receive(min(left, step))
            if received <= 0 { return 0 }
            left -= received
            let now = nanoseconds(of: CLOCK_MONOTONIC)
            if !note(now - before) { step = 1 }
            if left > 0, now - begin >= Self.patience { return left }
            before = now
        }
        return 0
    }

    /// Has `receive` receive whatever there is; leaves the processors to others if that takes long.
    static func receiveAll(_ receive: (Int) -> Int) {
        while true {
            var cost = PeerCost()
            if cost.receive(upTo: .max, receive) == 0 { return }
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
