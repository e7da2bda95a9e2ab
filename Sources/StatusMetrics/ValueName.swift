// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// The name of the metric for a value: `statusd_value_`*NAME*`_`*UNIT*.
///
/// Plugins choose the names of values. A name becomes lower-case words of letters and digits. A word that Prometheus
/// would take for another unit, or for the suffix of another type, gets an `x`, so that `promtool check metrics` is
/// silent whatever a plugin writes.
struct ValueName {
    /// The maximum length of the name in it, without the unit.
    private static let maximumLength = 64

    let unit: ValueUnit
    private let words: [String]

    init(_ value: MeasuredValue) {
        let unit = ValueUnit(value.unit)
        self.unit = unit ?? .none
        // check_disk names its values by the mount point.
        var words = value.name == "/" ? ["root"] : Self.words(value.name)
        if let word = unit?.word, words.last == word { words.removeLast() }
        if unit?.kind == .counter, words.last == "total" { words.removeLast() }
        if unit == nil { words += Self.words(value.unit) }
        if words.isEmpty, unit?.word == nil, unit?.kind != .counter { words = ["unnamed"] }
        for (index, word) in words.enumerated() {
            let isLast = index == words.count - 1 && unit?.word == nil
            if Self.isUnit(word) || Self.types.contains(word) || isLast && Self.suffixes.contains(word) {
                words[index] = "x" + word
            }
        }
        self.words = words
    }

    /// The name of the family; of several with the same name, each has its own count.
    func text(_ count: Int) -> String {
        (["statusd_value"] + words + (count > 1 ? ["\(count)"] : []) + (unit.word.map { [$0] } ?? []))
            .joined(separator: "_")
    }

    var help: String {
        let measure =
            switch unit.word {
            case "ratio": ", as a ratio"
            case let word?: ", in \(word)"
            case nil: ""
            }
        return "What a check measured: \(words.isEmpty ? "its value" : words.joined(separator: " "))\(measure)."
    }

    private static func words(_ text: String) -> [String] {
        let bytes = text.utf8.prefix(maximumLength)
        return bytes.split { !isAlphanumeric($0) }.map { String(decoding: $0, as: UTF8.self).lowercased() }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    // MARK: The words that promlint refuses (client_golang)

    private static let abbreviations: Set<String> = [
        "s", "ms", "us", "ns", "sec", "b", "kb", "mb", "gb", "tb", "pb", "m", "h", "d",
    ]
    private static let units: Set<String> = [
        "amperes", "bytes", "celsius", "grams", "joules", "kelvin", "meters", "metres", "seconds", "volts",
    ]
    private static let otherUnits: Set<String> = [
        "minutes", "hours", "days", "weeks", "kelvins", "fahrenheit", "rankine", "inches", "yards", "miles", "bits",
        "calories", "pounds", "ounces",
    ]
    private static let prefixes = [
        "pico", "nano", "micro", "milli", "centi", "deci", "deca", "hecto", "kilo", "kibi", "mega", "mebi", "mibi",
        "giga", "gibi", "tera", "tebi", "peta", "pebi",
    ]
    private static let types: Set<String> = ["gauge", "counter", "summary", "histogram", "info", "untyped"]
    private static let suffixes: Set<String> = ["total", "count", "sum", "bucket", "created", "gsum", "gcount"]

    private static func isUnit(_ word: String) -> Bool {
        if abbreviations.contains(word) || otherUnits.contains(word) { return true }
        return prefixes.contains { prefix in
            guard word.hasPrefix(prefix) else { return false }
            let rest = String(word.dropFirst(prefix.count))
            return units.contains(rest) || otherUnits.contains(rest)
        }
    }
}
