// SPDX-License-Identifier: Apache-2.0

package import Glibc

/// The time of a clock, in nanoseconds.
package func nanoseconds(of clock: clockid_t) -> UInt64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
