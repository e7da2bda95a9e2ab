// SPDX-License-Identifier: Apache-2.0

/// Percentages with three decimals.
enum Percent {
    /// The part in thousandths of a percent, rounded; only all of it is 100 %, and only nothing is 0 %.
    static func thousandths(_ part: Int, of whole: Int) -> Int {
        if part <= 0 || whole <= 0 { return 0 }
        if part >= whole { return 100_000 }
        let rounded = Int((Double(part) / Double(whole) * 100_000).rounded())
        return min(max(1, rounded), 99_999)
    }

    /// With three decimals, for columns: `97.500 %`.
    static func column(_ part: Int, of whole: Int) -> String {
        let value = thousandths(part, of: whole)
        let decimals = String(value % 1000)
        return "\(value / 1000).\(String(repeating: "0", count: 3 - decimals.count))\(decimals) %"
    }

    /// With as many decimals as it needs: `97.5 %`.
    static func short(_ part: Int, of whole: Int) -> String {
        var text = String(column(part, of: whole).dropLast(2))
        while text.last == "0" { text.removeLast() }
        if text.last == "." { text.removeLast() }
        return "\(text) %"
    }
}
