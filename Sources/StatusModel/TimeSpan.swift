// SPDX-License-Identifier: Apache-2.0

/// Reads and writes time spans by the rules of systemd.time(7).
///
/// For example `30s`, `5min`, `1h 30min` or `1.5h`. A number without a unit is in seconds.
public enum TimeSpan {
    /// The units and their microseconds, largest first.
    private static let units: [(name: String, microseconds: Int64)] = [
        ("y", 31_557_600_000_000), ("year", 31_557_600_000_000), ("years", 31_557_600_000_000),
        ("month", 2_629_800_000_000), ("months", 2_629_800_000_000), ("M", 2_629_800_000_000),
        ("w", 604_800_000_000), ("week", 604_800_000_000), ("weeks", 604_800_000_000),
        ("d", 86_400_000_000), ("day", 86_400_000_000), ("days", 86_400_000_000),
        ("h", 3_600_000_000), ("hour", 3_600_000_000), ("hours", 3_600_000_000), ("hr", 3_600_000_000),
        ("min", 60_000_000), ("minute", 60_000_000), ("minutes", 60_000_000), ("m", 60_000_000),
        ("s", 1_000_000), ("sec", 1_000_000), ("second", 1_000_000), ("seconds", 1_000_000),
        ("ms", 1000), ("msec", 1000),
        ("us", 1), ("usec", 1), ("µs", 1), ("μs", 1),
    ]

    /// The units that ``text(_:)`` uses, without weeks and longer units.
    private static let written = ["d", "h", "min", "s", "ms", "us"]

    /// Parses a time span; returns nil if it is invalid, or too long to count in microseconds.
    public static func parse(_ text: String) -> Duration? {
        var rest = text[...]
        var total: Int64 = 0
        var isEmpty = true
        while true {
            rest = rest.drop { $0 == " " || $0 == "\t" }
            if rest.isEmpty { break }
            guard let part = takePart(&rest) else { return nil }
            let (sum, overflow) = total.addingReportingOverflow(part)
            if overflow { return nil }
            total = sum
            isEmpty = false
        }
        return isEmpty ? nil : .microseconds(total)
    }

    /// Removes a number with its unit from the beginning; returns its microseconds.
    private static func takePart(_ rest: inout Substring) -> Int64? {
        let whole = rest.prefix(while: isDigit)
        rest = rest.dropFirst(whole.count)
        var fraction: Substring = ""
        if rest.first == "." {
            fraction = rest.dropFirst().prefix(while: isDigit)
            rest = rest.dropFirst(fraction.count + 1)
            if fraction.isEmpty { return nil }
        }
        rest = rest.drop { $0 == " " || $0 == "\t" }
        let word = rest.prefix { !isDigit($0) && $0 != "." && $0 != " " && $0 != "\t" }
        rest = rest.dropFirst(word.count)
        // systemd takes “.5s”, too.
        let number = whole.isEmpty && !fraction.isEmpty ? 0 : Int64(whole)
        guard let number, let unit = word.isEmpty ? 1_000_000 : microseconds(of: word) else {
            return nil
        }
        let (product, isTooLong) = number.multipliedReportingOverflow(by: unit)
        let (sum, overflow) = product.addingReportingOverflow(part(fraction, of: unit))
        return isTooLong || overflow ? nil : sum
    }

    /// Returns the value of the digits after the decimal point.
    private static func part(_ fraction: Substring, of unit: Int64) -> Int64 {
        var divisor: Int64 = 1
        var sum: Int64 = 0
        for digit in fraction.utf8.prefix(6) {
            divisor *= 10
            sum += Int64(digit - 0x30) * unit / divisor
        }
        return sum
    }

    private static func isDigit(_ character: Character) -> Bool { character.isASCII && character.isNumber }

    private static func microseconds(of unit: Substring) -> Int64? { units.first { $0.name == unit }?.microseconds }

    /// Writes a time span with its two largest units, as systemd does: `1min 30s`.
    public static func text(_ duration: Duration) -> String {
        var rest = duration.microseconds
        var parts: [String] = []
        for unit in written {
            guard let size = microseconds(of: unit[...]), parts.count < 2, rest >= size else { continue }
            parts.append("\(rest / size)\(unit)")
            rest %= size
        }
        return parts.isEmpty ? "0" : parts.joined(separator: " ")
    }
}

extension Duration {
    /// The time in microseconds; a time that is too long becomes the longest that fits.
    package var microseconds: Int64 {
        let (seconds, attoseconds) = components
        let (micros, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000)
        if isTooLong { return seconds < 0 ? .min : .max }
        let (sum, isOverflow) = micros.addingReportingOverflow(attoseconds / 1_000_000_000_000)
        return isOverflow ? micros : sum
    }
}
