// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc

/// What system calls on a connected Unix socket cost because of its peer.
///
/// The kernel wakes everything that watches the peer's end within the call that receives or sends a message (`unix_write_space` and `sock_def_readable`). A
/// user can have millions of epoll(7) watches, each of which costs some 100 ns. A call that sends wakes them once; one that receives wakes them once for
/// each message, hundreds of times. So a peer has to be known as cheap, by what was sent to it, before anything is received on the loop.
///
/// That is not enough for whoever takes pains: a peer can be watched for room only, which sending does not wake, and can be watched more at any moment.
package struct PeerCost {
    /// What a call to a cheap peer may take, in nanoseconds.
    private static let acceptable: UInt64 = 100_000
    /// What a call takes that is charged to the peer, in nanoseconds; this process's own work, and interrupts, stay below it.
    private static let excessive: UInt64 = 1_000_000
    /// How long a peer is known to be cheap, in nanoseconds: it can add a thousand watches meanwhile.
    private static let validity: UInt64 = 1_000_000

    /// When a call was cheap last.
    private var lastCheap: UInt64?

    package init() {}

    /// Whether a call was cheap a moment ago.
    package var isKnownCheap: Bool { lastCheap.map { Self.time(CLOCK_MONOTONIC) - $0 < Self.validity } ?? false }

    /// Makes a call that wakes the peer once; returns its result, and what it took in nanoseconds if that is excessive, else 0.
    ///
    /// Processor time is measured, since a call may be interrupted by other processes; if the peer is known to be cheap, time on the clock, which is
    /// read faster.
    package mutating func measure<Result>(_ call: () -> Result) -> (result: Result, excess: UInt64) {
        let begin = Self.time(CLOCK_MONOTONIC)
        if let lastCheap, begin - lastCheap < Self.validity {
            let result = call()
            let end = Self.time(CLOCK_MONOTONIC)
            self.lastCheap = end - begin <= Self.acceptable ? end : nil
            return (result, 0)
        }
        let processorBegin = Self.time(CLOCK_THREAD_CPUTIME_ID)
        let result = call()
        let taken = Self.time(CLOCK_THREAD_CPUTIME_ID) - processorBegin
        lastCheap = taken <= Self.acceptable ? Self.time(CLOCK_MONOTONIC) : nil
        return (result, taken >= Self.excessive ? taken : 0)
    }

    /// What receiving may cost a thread that is not the loop's.
    enum Patience {
        /// So many nanoseconds in all; then it stops.
        case limited
        /// As much as it takes, but processors are left to others in between.
        case unlimited
    }

    /// Has `receive` receive up to so many bytes on a thread that is not the loop's: few at a time, since each may be a message that wakes the peer.
    ///
    /// Returns what it took in nanoseconds if it has stopped because of that, else 0.
    static func receive(upTo count: Int, _ patience: Patience, _ receive: (Int) -> Int) -> UInt64 {
        var (left, step, before, excess) = (count, 1, time(CLOCK_THREAD_CPUTIME_ID), UInt64(0))
        while left > 0 {
            let received = receive(min(left, step))
            if received <= 0 { return 0 }
            let now = time(CLOCK_THREAD_CPUTIME_ID)
            let taken = now - before
            (left, before) = (left - received, now)
            if taken < acceptable {
                step = min(step * 4, 16_384)
            } else if case .unlimited = patience {
                step = 1
                // The kernel may let nobody else run within a call.
                setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19)
                rest(taken)
            } else {
                excess += taken
                if excess >= 10 * excessive { return excess }
            }
        }
        return 0
    }

    /// Sleeps for so many nanoseconds, whatever signals come (``ReleaseThreads``).
    private static func rest(_ nanoseconds: UInt64) {
        let end = time(CLOCK_MONOTONIC) + nanoseconds
        while case let now = time(CLOCK_MONOTONIC), now < end {
            usleep(useconds_t(min(end - now, 500_000_000) / 1000 + 1))
        }
    }

    private static func time(_ clock: Int32) -> UInt64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
