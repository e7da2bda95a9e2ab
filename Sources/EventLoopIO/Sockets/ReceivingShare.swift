// SPDX-License-Identifier: Apache-2.0

import Glibc

/// How long a thread may work on a socket whose peer may make that slow (``ForeignSocket``), before others have their turn.
struct ReceivingShare {
    /// The length of a share, in nanoseconds.
    private static let patience: UInt64 = 1_000_000

    private let begin = nanoseconds(of: CLOCK_MONOTONIC)

    /// Whether others must have their turn.
    var isUsedUp: Bool { nanoseconds(of: CLOCK_MONOTONIC) - begin >= Self.patience }

    /// Calls `receive` for up to `count` bytes, at a pace, until the share is used up.
    ///
    /// - Returns: how many bytes are left; 0 if all have been received or there are no more.
    func receive(upTo count: Int, _ pace: inout ReceivingPace, _ receive: (Int) -> Int) -> Int {
        var (left, timer) = (count, CallTimer())
        while left > 0 {
            let received = receive(pace.step(of: left))
            if received <= 0 { return 0 }
            left -= received
            pace.note(isSlow: timer.noteEnd())
            if left > 0, timer.end - begin >= Self.patience { return left }
        }
        return 0
    }

    /// Calls `receive` for up to `count` bytes, and rests if it needs much processor time.
    ///
    /// - Parameter busyCount: how many threads do this at a time. Together they take no more than one processor.
    static func receiveAll(_ count: Int, busyCount: () -> Int, _ receive: (Int) -> Int) {
        var (left, pace) = (count, ReceivingPace())
        while true {
            let begin = nanoseconds(of: CLOCK_THREAD_CPUTIME_ID)
            left = ReceivingShare().receive(upTo: left, &pace, receive)
            if left == 0 { return }
            rest((nanoseconds(of: CLOCK_THREAD_CPUTIME_ID) - begin) * UInt64(max(1, busyCount())))
        }
    }

    /// Sleeps for so many nanoseconds, whatever signals arrive (``SystemCallThreads``).
    private static func rest(_ time: UInt64) {
        let end = nanoseconds(of: CLOCK_MONOTONIC) + time
        while case let now = nanoseconds(of: CLOCK_MONOTONIC), now < end {
            usleep(useconds_t(min(end - now, 500_000_000) / 1000 + 1))
        }
    }
}
