// SPDX-License-Identifier: Apache-2.0

/// Reads the parts of a time.
extension TimeExpression {
    /// Reads `Wed` or `Wednesday`, as systemd's tools write them; 0 is Sunday.
    static func weekday(_ word: Substring) -> Int? {
        let names = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]
        let lower = word.lowercased()
        return names.firstIndex { $0 == lower || $0.prefix(3) == lower }
    }

    /// Reads `2026-11-25`; nil if the calendar has no such date.
    static func date(_ word: Substring) -> CivilTime? {
        let parts = word.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, let year = number(parts[0], digits: 4...4), let month = number(parts[1]),
            let day = number(parts[2])
        else { return nil }
        let date = CivilTime(year: year, month: month, day: day)
        return date.isDate ? date : nil
    }

    /// Reads `12:00`, `12:00:00` or `12:00:00.250`, with an optional offset as in RFC 3339.
    static func clock(_ word: Substring) -> (time: CivilTime, milliseconds: Int64, offset: Zone?)? {
        var (word, offset) = (word, Zone?.none)
        if let start = word.firstIndex(where: { "Zz+-".contains($0) }) {
            guard let zone = zone(word[start...]) else { return nil }
            (word, offset) = (word[..<start], zone)
        }
        let parts = word.split(separator: ":", omittingEmptySubsequences: false)
        guard 2...3 ~= parts.count, let hour = number(parts[0]), let minute = number(parts[1]), hour < 24, minute < 60
        else { return nil }
        var time = CivilTime(year: 1970, month: 1, day: 1, hour: hour, minute: minute)
        guard parts.count == 3 else { return (time, 0, offset) }
        let seconds = parts[2].split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let second = number(seconds[0]), second < 60 else { return nil }
        time.second = second
        guard seconds.count == 2 else { return (time, 0, offset) }
        guard number(seconds[1], digits: 1...9) != nil, let milliseconds = Int64((seconds[1] + "00").prefix(3)) else {
            return nil
        }
        return (time, milliseconds, offset)
    }

    /// Reads `UTC`, `Z`, `+01:00` or `-0500`.
    static func zone(_ word: Substring) -> Zone? {
        if ["UTC", "Z", "z"].contains(word) { return .fixed(minutesEast: 0) }
        guard let sign = word.first, sign == "+" || sign == "-" else { return nil }
        let digits = word.dropFirst().filter { $0 != ":" }
        guard digits.utf8.count == 4, word.utf8.count == 5 || word.dropFirst(3).first == ":",
            let hours = number(digits.prefix(2)), let minutes = number(digits.suffix(2)), hours < 24, minutes < 60
        else { return nil }
        return .fixed(minutesEast: (hours * 60 + minutes) * (sign == "-" ? -1 : 1))
    }

    /// Reads a number with this many digits.
    private static func number(_ text: some StringProtocol, digits: ClosedRange<Int> = 1...2) -> Int64? {
        guard digits ~= text.utf8.count, text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
        return Int64(text)
    }
}
