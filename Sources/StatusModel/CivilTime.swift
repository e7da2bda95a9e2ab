// SPDX-License-Identifier: Apache-2.0

/// A date of the proleptic Gregorian calendar and a time of day, without a time zone.
///
/// It counts in eras of 400 years that begin in March. From days to dates, the arithmetic is Cassio Neri's and Lorenz
/// Schneider's ("Euclidean affine functions and their application to calendar algorithms"), otherwise Howard Hinnant's
/// (`days_from_civil` in "chrono-Compatible Low-Level Date Algorithms").
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

    /// Creates the beginning of a day.
    init(daysSinceEpoch: Int64) {
        let (era, dayOfEra) = (daysSinceEpoch + 719_468).quotientAndRemainder(flooringBy: 146_097)
        let ofEra = 4 &* UInt32(truncatingIfNeeded: dayOfEra) &+ 3
        let (century, ofCentury) = (ofEra / 146_097, ofEra % 146_097 | 3)
        let years = 2_939_745 &* UInt64(ofCentury)
        let dayOfYear = UInt32(truncatingIfNeeded: years) / 2_939_745 / 4
        let months = 2141 &* dayOfYear &+ 197_913
        let isNextYear = dayOfYear >= 306
        self.init(
            year: era * 400 + Int64(century) * 100 + Int64(years >> 32) + (isNextYear ? 1 : 0),
            month: Int64(months >> 16) - (isNextYear ? 12 : 0), day: Int64((months & 0xFFFF) / 2141 + 1))
    }

    fileprivate init(secondsSinceEpoch seconds: Int64) {
        let (days, ofDay) = seconds.quotientAndRemainder(flooringBy: 86_400)
        self.init(daysSinceEpoch: days)
        (hour, minute, second) = (ofDay / 3600, ofDay / 60 % 60, ofDay % 60)
    }

    /// Returns the beginning of the day, this many days later.
    func midnight(daysLater count: Int64 = 0) -> CivilTime { CivilTime(daysSinceEpoch: daysSinceEpoch + count) }

    var isDate: Bool {
        let midnight = midnight()
        return (1...12).contains(month) && (midnight.month, midnight.day) == (month, day)
    }

    /// The day of the week; 0 is Sunday.
    var weekday: Int { Int((daysSinceEpoch % 7 + 11) % 7) }

    private var daysSinceEpoch: Int64 {
        let (era, yearOfEra) = (month <= 2 ? year - 1 : year).quotientAndRemainder(flooringBy: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    var secondsSinceEpoch: Int64 { ((daysSinceEpoch * 24 + hour) * 60 + minute) * 60 + second }
}

extension Int64 {
    func quotientAndRemainder(flooringBy divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
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
