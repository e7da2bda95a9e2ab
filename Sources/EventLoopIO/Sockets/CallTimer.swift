// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Tells system calls of a thread that take much processor time from those that do not, one after another.
struct CallTimer {
    /// What a call to an ordinary peer may take, in nanoseconds.
    private static let acceptable: UInt64 = 100_000

    /// When the last call ended, by CLOCK_MONOTONIC in nanoseconds.
    private(set) var end: UInt64
    /// When the thread's processor time was read, and what it was then: reading it takes as long as a call.
    private var lastReading: UInt64
    private var processorTime = nanoseconds(of: CLOCK_THREAD_CPUTIME_ID)

    /// The first call begins now.
    init() {
        end = nanoseconds(of: CLOCK_MONOTONIC)
        lastReading = end
    }

    /// Notes the end of a call; returns whether it took much processor time, and did not only wait for a processor.
    mutating func noteEnd() -> Bool {
        let now = nanoseconds(of: CLOCK_MONOTONIC)
        defer { end = now }
        guard now - end >= Self.acceptable else { return false }
        let former = (time: processorTime, lastReading: lastReading)
        (processorTime, lastReading) = (nanoseconds(of: CLOCK_THREAD_CPUTIME_ID), now)
        // The calls before it have taken no more than the time that passed.
        return processorTime - former.time >= end - former.lastReading + Self.acceptable
    }
}
