// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc

/// What system calls on a connected Unix socket cost because of its peer.
///
/// The kernel wakes everything that watches the peer's end within the call that sends a message, receives one, or closes the socket (`sock_def_readable`,
/// `unix_write_space`). A user can have millions of epoll(7) watches and poll(2) entries, each of which costs some 30 to 100 ns, and can add them at any
/// moment. A call that receives wakes them once for each message, hundreds of times. So only sending is left to the loop, and measured.
package enum PeerCost {
    /// Which clock tells what a call takes.
    package enum Clock {
        /// The time, which is read fast; other processes may have run meanwhile.
        case wall
        /// The processor time of this thread.
        case processor

        fileprivate var number: Int32 { self == .wall ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID }
    }

    /// What a call to a cheap peer may take, in nanoseconds, and what each byte may add.
    private static let (acceptable, acceptablePerByte): (UInt64, UInt64) = (200_000, 1)
    /// What receiving on another thread may take in all, in nanoseconds.
    private static let limit: UInt64 = 10_000_000
    /// How many bytes are received at a time on another thread: a kernel without preemption lets nothing else run on that processor meanwhile, and the first
    /// messages of a full queue wake nobody, so how long the next ones take is not known.
    private static let longestStep = 64

    /// Makes a call that sends so many bytes; returns its result, and what it took in nanoseconds if that is more than it should, else 0.
    package static func measure<Result>(_ clock: Clock, bytes: Int, _ call: () -> Result) -> (Result, excess: UInt64) {
        let begin = time(clock)
        let result = call()
        let taken = time(clock) - begin
        return (result, taken <= acceptable + UInt64(bytes) * acceptablePerByte ? 0 : taken)
    }

    /// What receiving may cost a thread that is not the loop's.
    enum Patience {
        /// So much in all; then it stops.
        case limited
        /// As much as it takes, but processors are left to others in between.
        case unlimited
    }

    /// Has `receive` receive up to so many bytes on a thread that is not the loop's: few at a time, since each may be a message that wakes the peer.
    ///
    /// Returns what calls that took too long have taken in nanoseconds if it has stopped because of them, else 0.
    static func receive(upTo count: Int, _ patience: Patience, _ receive: (Int) -> Int) -> UInt64 {
        var (left, step, before, excess) = (count, 1, time(.processor), UInt64(0))
        while left > 0 {
            let received = receive(min(left, step))
            if received <= 0 { return 0 }
            let now = time(.processor)
            let taken = now - before
            (left, before) = (left - received, now)
            if taken < acceptable {
                step = min(step * 2, longestStep)
            } else if case .unlimited = patience {
                step = 1
                // The kernel may let nobody else run within a call.
                setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19)
                rest(min(taken * 3, 1_000_000_000))
            } else {
                excess += taken
                if excess >= limit { return excess }
            }
        }
        return 0
    }

    /// Sleeps for so many nanoseconds, whatever signals come (``ReleaseThreads``).
    private static func rest(_ nanoseconds: UInt64) {
        let end = time(.wall) + nanoseconds
        while case let now = time(.wall), now < end { usleep(useconds_t((end - now) / 1000 + 1)) }
    }

    private static func time(_ clock: Clock) -> UInt64 {
        var time = timespec()
        clock_gettime(clock.number, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
