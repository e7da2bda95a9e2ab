// SPDX-License-Identifier: Apache-2.0

/// A date and a time of day, without a time zone.
public struct CivilTime: Hashable, Sendable {
    public var year: Int64
    /// From 1 to 12.
    public var month: Int64
    /// From 1 to 31.
    public var day: Int64
    public var hour: Int64
    public var minute: Int64
    public var second: Int64

    public init(year: Int64, month: Int64, day: Int64, hour: Int64 = 0, minute: Int64 = 0, second: Int64 = 0) {
        (self.year, self.month, self.day) = (year, month, day)
        (self.hour, self.minute, self.second) = (hour, minute, second)
    }

    /// Returns the beginning of the day, this many days later.
    func midnight(daysLater count: Int64 = 0) -> CivilTime {
        let date = CivilDate(daysSinceEpoch: daysSinceEpoch + count)
        return CivilTime(year: date.year, month: date.month, day: date.day)
    }

    var isDate: Bool {
        let midnight = midnight()
        return (1...12).contains(month) && (midnight.month, midnight.day) == (month, day)
    }

    /// The day of the week; 0 is Sunday.
    var weekday: Int { Int((daysSinceEpoch % 7 + 11) % 7) }

    private var daysSinceEpoch: Int64 { CivilDate(year: year, month: month, day: day).daysSinceEpoch }

    var secondsSinceEpoch: Int64 { ((daysSinceEpoch * 24 + hour) * 60 + minute) * 60 + second }

    fileprivate init(secondsSinceEpoch seconds: Int64) {
        let ofDay = (seconds % 86_400 + 86_400) % 86_400
        let date = CivilDate(daysSinceEpoch: (seconds - ofDay) / 86_400)
        self.init(
            year: date.year, month: date.month, day: date.day, hour: ofDay / 3600, minute: ofDay / 60 % 60,
            second: ofDay % 60)
    }
}

/// A time zone, as two functions; for the system's zone, they call the C library.
public struct CivilZone: Sendable {
    /// Returns the date and time of day at a number of seconds since 1970-01-01T00:00:00Z.
    public let time: @Sendable (_ seconds: Int64) -> CivilTime
    /// Returns the seconds since 1970-01-01T00:00:00Z at a date and time of day; nil if out of range.
    public let seconds: @Sendable (_ time: CivilTime) -> Int64?

    public init(
        time: @escaping @Sendable (_ seconds: Int64) -> CivilTime,
        seconds: @escaping @Sendable (_ time: CivilTime) -> Int64?
    ) {
        self.time = time
        self.seconds = seconds
    }

    /// Coordinated universal time.
    public static let utc = fixed(minutesEast: 0)

    /// A zone with a fixed offset from UTC.
    static func fixed(minutesEast minutes: Int64) -> CivilZone {
        CivilZone(
            time: { CivilTime(secondsSinceEpoch: $0 + minutes * 60) },
            seconds: { $0.secondsSinceEpoch - minutes * 60 })
    }
}
