// SPDX-License-Identifier: Apache-2.0

import Glibc
public import StatusModel

/// A time by two clocks: the wall clock for people, and the boot clock for decisions.
public struct Moment: Sendable, Equatable {
    /// The wall clock, which may jump.
    public var wall: Timestamp
    /// The time since boot, including suspended time (`CLOCK_BOOTTIME`).
    public var boot: Duration

    public init(wall: Timestamp, boot: Duration) {
        self.wall = wall
        self.boot = boot
    }

    public static func now() -> Moment {
        let wall = time(of: CLOCK_REALTIME)
        let boot = time(of: CLOCK_BOOTTIME)
        return Moment(
            wall: Timestamp(milliseconds: Int64(wall.tv_sec) * 1000 + Int64(wall.tv_nsec) / 1_000_000),
            boot: Duration(
                secondsComponent: Int64(boot.tv_sec), attosecondsComponent: Int64(boot.tv_nsec) * 1_000_000_000))
    }

    private static func time(of clock: clockid_t) -> timespec {
        var time = timespec()
        clock_gettime(clock, &time)
        return time
    }
}
