// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// The families of what checks have measured, sorted by name.
///
/// A server has a value only while its status is current, so that Prometheus does not take an old one for a new one.
struct ValueFamilies {
    private var byName: [String: MetricFamily] = [:]

    init(_ servers: [ServerState]) {
        for server in servers where server.isCurrent {
            var taken: Set<String> = []
            for value in server.values.prefix(MeasuredValue.maximumCount) {
                let name = ValueName(value)
                let number = name.unit.number(value.value)
                // OpenMetrics has no counter that is negative.
                guard number.isFinite, name.unit.kind == .gauge || number >= 0 else { continue }
                let family = family(for: name, avoiding: taken)
                taken.insert(family)
                byName[family]?.samples.append(.init([("server", server.name.rawValue)], number))
            }
        }
    }

    var families: [MetricFamily] { byName.sorted { $0.key < $1.key }.map(\.value) }

    /// Finds or adds the family of a name.
    ///
    /// Different names of plugins may become the same one. The second of a server gets a number.
    private mutating func family(for name: ValueName, avoiding taken: Set<String>) -> String {
        var count = 1
        while true {
            let text = name.text(count)
            if !taken.contains(text), byName[text].map({ $0.kind == name.unit.kind }) ?? true {
                byName[text] =
                    byName[text] ?? MetricFamily(text, name.help, name.unit.kind, unit: name.unit.word)
                return text
            }
            count += 1
        }
    }
}

/// The unit of a value in the base units of Prometheus.
struct ValueUnit {
    /// The last word of the name; nil for none.
    let word: String?
    let kind: MetricFamily.Kind
    private let (factor, divisor): (Double, Double)

    private init(
        word: String?, _ kind: MetricFamily.Kind = .gauge, times factor: Double = 1, over divisor: Double = 1
    ) {
        (self.word, self.kind, self.factor, self.divisor) = (word, kind, factor, divisor)
    }

    /// The unit of a number of things.
    static let none = ValueUnit(word: nil)

    /// Reads a unit of a built-in check, or of the Nagios plugin guidelines; nil for another one.
    init?(_ text: String) {
        switch text {
        case "": self = .none
        case "c": self.init(word: nil, .counter)
        case "%": self.init(word: "ratio", over: 100)
        case "s": self.init(word: "seconds")
        case "ms": self.init(word: "seconds", over: 1e3)
        case "us", "µs", "μs": self.init(word: "seconds", over: 1e6)
        case "ns": self.init(word: "seconds", over: 1e9)
        case "B": self.init(word: "bytes")
        default:
            let prefixes = ["K", "M", "G", "T", "P"]
            guard let first = text.first, let power = prefixes.firstIndex(of: first == "k" ? "K" : String(first))
            else { return nil }
            let bases = ["B": 1000.0, "iB": 1024.0]
            guard let base = bases[String(text.dropFirst())] else { return nil }
            self.init(word: "bytes", times: (0...power).reduce(1) { number, _ in number * base })
        }
    }

    func number(_ value: Double) -> Double { value * factor / divisor }
}
