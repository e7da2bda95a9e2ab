// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc

/// How long one of the threads that are not the loop's may work on a socket whose peer may make that slow (``ForeignSocket``), before others have their turn.
struct ReceivingShare {
    /// What a call to an ordinary peer may take, in nanoseconds.
    private static let acceptable: UInt64 = 100_000
    /// After so long there is a pause, in nanoseconds.
    private static let patience: UInt64 = 1_000_000
    /// How many bytes are received at a time, at least and at most, and which part of all that is left.
    private static let (leastStep, longestStep, part) = (16, 16_384, 32)

    private let begin = nanoseconds(of: CLOCK_MONOTONIC)

    /// Whether it is time to let others go first.
    var isUsedUp: Bool { nanoseconds(of: CLOCK_MONOTONIC) - begin >= Self.patience }

    /// Has `receive` receive up to so many bytes, until the time is used up: a few at a time, since each may be a message that wakes what watches the
    /// peer; one if that was slow, or `isSlow` says that it will be.
    ///
    /// That one message was cheap says little about the next: a full queue wakes nobody before three quarters of it have been received. So the fewer are
    /// left, the fewer are received at a time.
    ///
    /// - Returns: how much of `count` is left then; 0 if everything has been received, or nothing more is there.
    func receive(upTo count: Int, isSlow: Bool = false, _ receive: (Int) -> Int) -> Int {
        var (left, before, isSlow) = (count, nanoseconds(of: CLOCK_MONOTONIC), isSlow)
        while left > 0 {
            let step = isSlow ? 1 : min(max(Self.leastStep, left / Self.part), Self.longestStep)
            let received = receive(min(left, step))
            if received <= 0 { return 0 }
            left -= received
            let now = nanoseconds(of: CLOCK_MONOTONIC)
            if now - before >= Self.acceptable { isSlow = true }
            if left > 0, now - begin >= Self.patience { return left }
            before = now
        }
        return 0
    }

    /// Has `receive` receive whatever there is; leaves the processors to others if that takes long.
    static func receiveAll(_ receive: (Int) -> Int) {
        while true {
            let share = ReceivingShare()
            if share.receive(upTo: .max, receive) == 0 { return }
            rest(nanoseconds(of: CLOCK_MONOTONIC) - share.begin)
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
