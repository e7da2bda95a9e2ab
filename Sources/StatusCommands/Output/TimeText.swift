// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
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

    /// In at most 11 columns: `08:30:00` today, `11-21 08:30` this year, or `2025-11-21`.
    static func brief(_ time: Timestamp, now: Timestamp) -> String {
        if format(time, day) == format(now, day) { return format(time, "%H:%M:%S") }
        return format(time, format(time, "%Y") == format(now, "%Y") ? "%m-%d %H:%M" : day)
    }

    /// How long ago a time was: `12s`, `3min 20s`, `2d 5h`; zero if the clock was set back.
    static func age(_ time: Timestamp, now: Timestamp) -> String {
        ChangeText.span(Int(now.milliseconds - time.milliseconds) / 1000 * 1000)
    }

    private static let day = "%Y-%m-%d"
    static var now: Timestamp { Timestamp(milliseconds: Int64(nanoseconds(of: CLOCK_REALTIME) / 1_000_000)) }

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

    /// The seconds since 1970 that a clock with local time shows.
    static func localSeconds(_ time: Timestamp) -> Int {
        let seconds = Int((Double(time.milliseconds) / 1000).rounded(.down))
        return seconds + offset(time_t(seconds))
    }

    /// How far local time is ahead of UTC, in seconds.
    private static func offset(_ seconds: time_t) -> Int { tm(localTime: seconds).tm_gmtoff }

    static func format(_ time: Timestamp, _ pattern: String) -> String {
        // Reads /etc/localtime again if it has changed; localtime_r(3) reads it only once.
        tzset()
        var fields = tm(localTime: time_t(time.milliseconds / 1000))
        var buffer = [CChar](repeating: 0, count: 64)
        let count = strftime(&buffer, buffer.count, pattern, &fields)
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

extension CivilZone {
    /// The time zone of this process (tzset(3)).
    static let local = CivilZone(time: { CivilTime(tm(localTime: time_t($0))) }, seconds: localSeconds)

    /// The first instant with this local time; if clocks skip it, the local time is moved forward by the skipped time.
    private static func localSeconds(_ time: CivilTime) -> Int64? {
        // Without a given tm_isdst, mktime(3) chooses one of two possible instants by its earlier calls.
        let moments = [Int32(1), 0].compactMap { isDaylightSaving -> Int64? in
            var fields = tm()
            fields.tm_year = Int32(time.year - 1900)
            fields.tm_mon = Int32(time.month - 1)
            fields.tm_mday = Int32(time.day)
            fields.tm_hour = Int32(time.hour)
            fields.tm_min = Int32(time.minute)
            fields.tm_sec = Int32(time.second)
            fields.tm_isdst = isDaylightSaving
            let seconds = mktime(&fields)
            return seconds == -1 ? nil : Int64(seconds)
        }
        return moments.filter { CivilTime(tm(localTime: time_t($0))) == time }.min() ?? moments.last
    }
}

extension tm {
    fileprivate init(localTime seconds: time_t) {
        self.init()
        var seconds = seconds
        localtime_r(&seconds, &self)
    }
}

extension CivilTime {
    fileprivate init(_ fields: tm) {
        self.init(
            year: Int64(fields.tm_year) + 1900, month: Int64(fields.tm_mon) + 1, day: Int64(fields.tm_mday),
            hour: Int64(fields.tm_hour), minute: Int64(fields.tm_min), second: Int64(fields.tm_sec))
    }
}
