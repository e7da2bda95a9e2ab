// SPDX-License-Identifier: Apache-2.0

/// Samples with one name, type and unit.
struct MetricFamily {
    enum Kind {
        case gauge
        /// A number that only grows; the names of its samples end in `_total`.
        case counter
        /// Labels with the value 1; the names of its samples end in `_info`.
        case info
    }

    struct Sample {
        /// Names of labels, which are valid, with any values.
        let labels: [(name: String, value: String)]
        let value: String

        init(_ labels: [(name: String, value: String)], _ value: Double) {
            self.labels = labels
            let text = "\(value)"
            self.value = text.hasSuffix(".0") ? String(text.dropLast(2)) : text
        }
    }

    /// The name without the suffix of the kind, and with the unit as its last word.
    let name: String
    let kind: Kind
    let unit: String?
    /// One sentence without backslashes, quotation marks and line ends.
    let help: String
    var samples: [Sample] = []

    init(_ name: String, _ help: String, _ kind: Kind = .gauge, unit: String? = nil) {
        (self.name, self.kind, self.unit, self.help) = (name, kind, unit, help)
    }

    /// Appends the lines of the family; none without samples.
    func write(_ format: MetricsFormat, to text: inout String) {
        guard !samples.isEmpty else { return }
        let suffix =
            switch kind {
            case .gauge: ""
            case .counter: "_total"
            case .info: "_info"
            }
        switch format {
        case .prometheus:
            text += "# HELP \(name)\(suffix) \(help)\n"
            text += "# TYPE \(name)\(suffix) \(kind == .counter ? "counter" : "gauge")\n"
        case .openMetrics:
            text += "# TYPE \(name) \(kind)\n"
            if let unit { text += "# UNIT \(name) \(unit)\n" }
            text += "# HELP \(name) \(help)\n"
        }
        for sample in samples {
            let labels = sample.labels.map { "\($0.name)=\"\(Self.escape($0.value))\"" }.joined(separator: ",")
            text += "\(name)\(suffix)\(labels.isEmpty ? "" : "{\(labels)}") \(sample.value)\n"
        }
    }

    /// The value of a label in quotation marks, which stays on its line.
    private static func escape(_ value: String) -> String {
        if value.utf8.allSatisfy({ 0x20..<0x7F ~= $0 && $0 != quote && $0 != backslash }) { return value }
        return value.unicodeScalars.reduce(into: "") { text, scalar in
            switch scalar {
            case "\n": text += "\\n"
            case "\"", "\\": text += "\\\(scalar)"
            // The formats allow other controls, which no value needs.
            case _ where scalar.properties.generalCategory == .control: text.unicodeScalars.append("\u{FFFD}")
            default: text.unicodeScalars.append(scalar)
            }
        }
    }

    private static let (quote, backslash) = (UInt8(ascii: "\""), UInt8(ascii: "\\"))
}
