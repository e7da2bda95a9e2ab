// SPDX-License-Identifier: Apache-2.0

/// A time of the wall clock, in milliseconds.
///
/// The text is RFC 3339 in UTC with milliseconds: `2026-11-21T08:30:00.250Z`. It is for people and the journal. No
/// decision depends on it, because the wall clock may jump.
public struct Timestamp: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// Milliseconds since 1970-01-01T00:00:00Z, without leap seconds.
    public var milliseconds: Int64

    /// The milliseconds in the years 0 to 9999, which the text can express.
    public static let expressible: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999

    /// Creates the time this many milliseconds after 1970-01-01T00:00:00Z.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    public static func < (left: Timestamp, right: Timestamp) -> Bool { left.milliseconds < right.milliseconds }

    public static func + (time: Timestamp, duration: Duration) -> Timestamp {
        Timestamp(milliseconds: time.milliseconds + duration.milliseconds)
    }

    /// The length of the RFC 3339 form.
    public static let length = 24

    public var description: String {
        String(unsafeUninitializedCapacity: Self.length) { buffer in
            if let start = buffer.baseAddress { write(to: start) }
            return Self.length
        }
    }

    /// Writes the 24 characters of the RFC 3339 form (years 0000 to 9999).
    public func write(to start: UnsafeMutablePointer<UInt8>) {
        let (days, ofDay) = milliseconds.quotientAndRemainder(flooringBy: 86_400_000)
        let date = CivilTime(daysSinceEpoch: days)
        // The milliseconds of a day fit into 32 bits, whose division is faster.
        let time = UInt32(truncatingIfNeeded: ofDay)
        let year = UInt32(truncatingIfNeeded: date.year)
        Self.write(year / 100 % 100, to: start)
        Self.write(year % 100, to: start + 2)
        start[4] = UInt8(ascii: "-")
        Self.write(UInt32(truncatingIfNeeded: date.month), to: start + 5)
        start[7] = UInt8(ascii: "-")
        Self.write(UInt32(truncatingIfNeeded: date.day), to: start + 8)
        start[10] = UInt8(ascii: "T")
        Self.write(time / 3_600_000, to: start + 11)
        start[13] = UInt8(ascii: ":")
        Self.write(time / 60_000 % 60, to: start + 14)
        start[16] = UInt8(ascii: ":")
        Self.write(time / 1000 % 60, to: start + 17)
        start[19] = UInt8(ascii: ".")
        start[20] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: time % 1000 / 100)
        Self.write(time % 100, to: start + 21)
        start[23] = UInt8(ascii: "Z")
    }

    /// Writes a value below 100 as two digits.
    @inline(__always)
    private static func write(_ value: UInt32, to start: UnsafeMutablePointer<UInt8>) {
        let digits = UnsafeRawPointer(pairs.utf8Start).loadUnaligned(
            fromByteOffset: 2 &* Int(truncatingIfNeeded: value), as: UInt16.self)
        UnsafeMutableRawPointer(start).storeBytes(of: digits, as: UInt16.self)
    }

    /// The numbers below 100.
    private static let pairs: StaticString = """
        0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849\
        5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899
        """
}
