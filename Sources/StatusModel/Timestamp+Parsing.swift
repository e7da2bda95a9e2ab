// SPDX-License-Identifier: Apache-2.0

extension Timestamp {
    /// Parses a time of RFC 3339, such as `2026-11-21T08:30:00Z` or `2026-11-21T09:30:00.250+01:00`; nil for any other
    /// text.
    ///
    /// Fractions of a millisecond are ignored. A leap second is read as the first second of the next minute.
    public init?(_ text: String) {
        var text = text
        guard let milliseconds = text.withUTF8({ Self.milliseconds($0[...]) }) else { return nil }
        self.init(milliseconds: milliseconds)
    }

    private typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

    private static func milliseconds(_ text: Bytes) -> Int64? {
        var text = text
        guard let year = number(&text, digits: 4), skip("-", in: &text), let month = number(&text, digits: 2),
            skip("-", in: &text), let day = number(&text, digits: 2), skip("Tt ", in: &text),
            let hour = number(&text, digits: 2), hour < 24, skip(":", in: &text),
            let minute = number(&text, digits: 2), minute < 60, skip(":", in: &text),
            let second = number(&text, digits: 2), second <= 60, let fraction = fraction(&text),
            let offset = offset(text)
        else { return nil }
        let time = CivilTime(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        let milliseconds = (time.secondsSinceEpoch - offset * 60) * 1000 + fraction
        return time.isDate && expressible.contains(milliseconds) ? milliseconds : nil
    }

    /// Reads the fraction of a second in milliseconds; returns 0 if there is none.
    private static func fraction(_ text: inout Bytes) -> Int64? {
        guard skip(".", in: &text) else { return 0 }
        var (unit, milliseconds, isEmpty) = (Int64(100), Int64(0), true)
        while let digit = number(&text, digits: 1) {
            milliseconds += digit * unit
            unit /= 10
            isEmpty = false
        }
        return isEmpty ? nil : milliseconds
    }

    /// Reads the offset, in minutes east of UTC.
    private static func offset(_ text: Bytes) -> Int64? {
        var text = text
        if skip("Zz", in: &text) { return text.isEmpty ? 0 : nil }
        let isWest = text.first == UInt8(ascii: "-")
        guard skip("+-", in: &text), let hours = number(&text, digits: 2), hours < 24, skip(":", in: &text),
            let minutes = number(&text, digits: 2), minutes < 60, text.isEmpty
        else { return nil }
        return (hours * 60 + minutes) * (isWest ? -1 : 1)
    }

    /// Removes one of these characters from the beginning; returns false if there is none.
    private static func skip(_ characters: StaticString, in text: inout Bytes) -> Bool {
        guard let byte = text.first, characters.withUTF8Buffer({ $0.contains(byte) }) else { return false }
        text.removeFirst()
        return true
    }

    /// Removes a number with exactly this many digits from the beginning; returns nil if there is none.
    private static func number(_ text: inout Bytes, digits: Int) -> Int64? {
        let word = text.prefix(digits)
        guard word.count == digits, word.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
        text.removeFirst(digits)
        return word.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }
}
