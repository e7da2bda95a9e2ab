// SPDX-License-Identifier: Apache-2.0

/// A number that a check measured, with its limits (performance data in the Nagios plugin guidelines).
public struct MeasuredValue: Hashable, Sendable {
    /// The maximum number of values of one status, and the maximum length of a name or unit in bytes.
    public static let (maximumCount, maximumBytes) = (32, 64)

    public var name: String
    public var value: Double
    /// The unit: `%`, `B` for bytes, `s` for seconds, `c` for a number that only grows, or empty for a number of
    /// things.
    public var unit: String
    /// The value from which on the level is warning, or critical; nil for none.
    ///
    /// For some values, such as the days until a certificate expires, smaller ones are worse.
    public var warning: Double?
    public var critical: Double?

    public init(_ name: String, _ value: Double, _ unit: String = "", warning: Double? = nil, critical: Double? = nil) {
        (self.name, self.value, self.unit) = (name, value, unit)
        (self.warning, self.critical) = (warning, critical)
    }

    /// The value for people: `71%`, `28 GB`, `740 ms`.
    public var text: String { Self.text(value, unit) }

    /// Formats a number with its unit for people.
    ///
    /// Bytes are in powers of 1000, as disks and memory are sold (IEC 80000-13), and have two or three digits.
    public static func text(_ value: Double, _ unit: String) -> String {
        // A hundred times the largest one is still an Int64.
        guard value.isFinite, value.magnitude < 9e16 else { return "\(value)\(unit)" }
        return switch unit {
        case "%": "\(digits(value, value.magnitude < 9.95 ? 1 : 0))%"
        case "B": scaled(value, 1000, ["B", "kB", "MB", "GB", "TB", "PB"])
        case "s" where value >= 86_400: TimeSpan.text(.seconds(Int64(min(value, 1e11))))
        case "s": value.magnitude < 1 ? "\(milliseconds(value * 1000)) ms" : "\(digits(value, value < 10 ? 1 : 0)) s"
        default: digits(value, 2) + (unit.isEmpty ? "" : " \(unit)")
        }
    }

    private static func milliseconds(_ value: Double) -> String {
        digits(value, value < 0.1 ? 2 : value < 9.95 ? 1 : 0)
    }

    private static func scaled(_ value: Double, _ base: Double, _ units: [String]) -> String {
        var (value, unit) = (value, 0)
        while value.magnitude >= base - 0.5, unit < units.count - 1 { (value, unit) = (value / base, unit + 1) }
        return "\(digits(value, unit > 0 && value.magnitude < 9.95 ? 1 : 0)) \(units[unit])"
    }

    /// Rounds to at most this many digits after the point; zeros at the end are left out.
    private static func digits(_ value: Double, _ count: Int) -> String {
        let factor = [1.0, 10, 100][count]
        let scaled = Int64((value.magnitude * factor).rounded())
        let (whole, rest) = scaled.quotientAndRemainder(dividingBy: Int64(factor))
        var fraction = rest == 0 ? "" : "." + String(repeating: "0", count: count - "\(rest)".count) + "\(rest)"
        while fraction.hasSuffix("0") { fraction.removeLast() }
        return (value < 0 && scaled > 0 ? "-" : "") + "\(whole)\(fraction)"
    }

    /// Whether people need not be told that this value is now the other one.
    ///
    /// A time is near within a factor of two, or if both are short, and another value within a tenth. Percentages are
    /// also near within one point, and numbers that are not whole, such as a load, within a quarter of one.
    public func isNear(_ other: MeasuredValue) -> Bool {
        guard name == other.name, unit == other.unit else { return false }
        let margin = max(value.magnitude, other.value.magnitude) / 10
        switch unit {
        case "%": return (value - other.value).magnitude < max(1, margin)
        case "s":
            let (short, long) = (max(Self.shortTime, min(value, other.value)), max(value, other.value))
            return long < short * 2
        default:
            let isWhole = [value, other.value].allSatisfy { $0 == $0.rounded() }
            return (value - other.value).magnitude <= (isWhole ? margin : max(margin, Self.quarter))
        }
    }

    private static let quarter = 0.25
    /// Times below are alike, in seconds.
    private static let shortTime = 0.01
}
