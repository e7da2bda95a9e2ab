// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusModel

/// Local times for people.
enum TimeText {
    /// `2026-11-21 08:30:00`; with the offset after it if clocks are set back, so that the time occurs twice.
    static func full(_ time: Timestamp) -> String { format(time, "%Y-%m-%d %H:%M:%S") + offsetIfTwice(time) }

    /// `08:30:00`, with the date before it if that is not the day of `now`.
    static func short(_ time: Timestamp, now: Timestamp = now) -> String {
        let isToday = format(time, day) == format(now, day)
        return isToday ? format(time, "%H:%M:%S") + offsetIfTwice(time) : full(time)
    }

    /// How long ago a time was: `12s`, `3min 20s`, `2d 5h`; zero if the clock was set back.
    static func age(_ time: Timestamp, now: Timestamp) -> String {
        ChangeText.span(Int(now.milliseconds - time.milliseconds) / 1000 * 1000)
    }

    private static let day = "%Y-%m-%d"
    /// The current time.
    static var now: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    private static func offsetIfTwice(_ time: Timestamp) -> String {
        let seconds = time_t(time.milliseconds / 1000)
        // Clocks are set by less than this, and not twice in this time.
        let near = 3 * 3600
        let setBack = offset(seconds - near) - offset(seconds + near)
        guard setBack > 0 else { return "" }
        let now = offset(seconds)
        guard offset(seconds + setBack) != now || offset(seconds - setBack) != now else { return "" }
        let minutes = abs(now) / 60
        let parts = [minutes / 60, minutes % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
        return (now < 0 ? "-" : "+") + parts.joined(separator: ":")
    }

    /// How far local time is ahead of UTC, in seconds.
    private static func offset(_ seconds: time_t) -> Int { fields(seconds).tm_gmtoff }

    private static func fields(_ seconds: time_t) -> tm {
        var (seconds, fields) = (seconds, tm())
        localtime_r(&seconds, &fields)
        return fields
    }

    private static func format(_ time: Timestamp, _ pattern: String) -> String {
        var fields = fields(time_t(time.milliseconds / 1000))
        var buffer = [CChar](repeating: 0, count: 64)
        let count = strftime(&buffer, buffer.count, pattern, &fields)
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
