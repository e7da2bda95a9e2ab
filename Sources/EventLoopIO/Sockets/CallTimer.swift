// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Measures the processor time of a thread's system calls, one after another, to find the slow ones.
struct CallTimer {
    /// How long a call to an ordinary peer may take, in nanoseconds.
    private static let acceptable: UInt64 = 100_000

    /// When the last call ended, by CLOCK_MONOTONIC in nanoseconds.
    private(set) var end: UInt64
    /// The last reading of the thread's processor time: when it was read, and its value.
    ///
    /// A reading takes as long as a call.
    private var lastReading: UInt64
    private var processorTime = nanoseconds(of: CLOCK_THREAD_CPUTIME_ID)

    /// Starts with the first call.
    init() {
        end = nanoseconds(of: CLOCK_MONOTONIC)
        lastReading = end
    }

    /// Records the end of a call; returns whether it used much processor time instead of only waiting for a processor.
    mutating func noteEnd() -> Bool {
        let now = nanoseconds(of: CLOCK_MONOTONIC)
        defer { end = now }
        guard now - end >= Self.acceptable else { return false }
        let former = (time: processorTime, lastReading: lastReading)
        (processorTime, lastReading) = (nanoseconds(of: CLOCK_THREAD_CPUTIME_ID), now)
        // The calls since the last reading used no more than the time that passed.
        return processorTime - former.time >= end - former.lastReading + Self.acceptable
    }
}
