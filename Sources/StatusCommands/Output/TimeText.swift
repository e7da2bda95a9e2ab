// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusModel

/// Local times for people.
enum TimeText {
    /// `2026-11-21 08:30:00`.
    static func full(_ time: Timestamp) -> String { format(time, "%Y-%m-%d %H:%M:%S") }

    /// `08:30:00`, with the date before it if that is not the day of `now`.
    static func short(_ time: Timestamp, now: Timestamp = now) -> String {
        let isToday = format(time, day) == format(now, day)
        return isToday ? format(time, "%H:%M:%S") : full(time)
    }

    private static let day = "%Y-%m-%d"
    /// The current time.
    static var now: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    private static func format(_ time: Timestamp, _ pattern: String) -> String {
        var seconds = time_t(time.milliseconds / 1000)
        var fields = tm()
        localtime_r(&seconds, &fields)
        var buffer = [CChar](repeating: 0, count: 64)
        let count = strftime(&buffer, buffer.count, pattern, &fields)
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
