// SPDX-License-Identifier: Apache-2.0

extension [MeasuredValue] {
    /// Reads performance data: `'label'=value[unit];[warning];[critical];[minimum];[maximum]`, with blanks between the
    /// values (Nagios plugin guidelines).
    ///
    /// What has another form is left out. A limit that is a range of two numbers is nil.
    public init(performanceData: String) {
        self = []
        var rest = performanceData.utf8[...]
        while !rest.isEmpty, count < MeasuredValue.maximumCount {
            rest = rest.drop { $0 == UInt8(ascii: " ") }
            let label = Self.takeLabel(from: &rest)
            let fields = rest.prefix { $0 != UInt8(ascii: " ") }
            rest = rest[fields.endIndex...]
            if let label, let value = MeasuredValue(label: label, fields: fields) { append(value) }
        }
    }

    /// The values as performance data, from which they can be read again.
    public var performanceData: String {
        map { value in
            var limits = [value.warning, value.critical].map { $0.map { ";\($0)" } ?? ";" }
            while limits.last == ";" { limits.removeLast() }
            return "\(MeasuredValue.quoted(value.name))=\(value.value)\(value.unit)" + limits.joined()
        }.joined(separator: " ")
    }

    /// Takes the label and the equals sign; nil if there are none.
    private static func takeLabel(from rest: inout Substring.UTF8View) -> String? {
        let quote = UInt8(ascii: "'")
        var label: [UInt8] = []
        if rest.first == quote {
            rest.removeFirst()
            while let byte = rest.popFirst() {
                // Two quotation marks stand for one.
                if byte == quote {
                    guard rest.first == quote else { break }
                    rest.removeFirst()
                }
                label.append(byte)
            }
        } else {
            label = Array<UInt8>(rest.prefix { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: " ") })
            rest = rest.dropFirst(label.count)
        }
        guard rest.first == UInt8(ascii: "=") else { return nil }
        rest.removeFirst()
        return label.isEmpty || label.count > MeasuredValue.maximumBytes ? nil : String(decoding: label, as: UTF8.self)
    }
}

extension MeasuredValue {
    /// Reads one value of what ``performanceData`` wrote, without reading the others; nil if there is none.
    public init?(_ name: String, inPerformanceData text: String) {
        // A quotation mark in a label is doubled, so this is nowhere else.
        let beginning = Array("\(Self.quoted(name))=".utf8)
        var rest = Array(text.utf8)[...]
        while !rest.starts(with: beginning) {
            guard let quote = rest.dropFirst().firstIndex(of: UInt8(ascii: "'")) else { return nil }
            rest = rest[quote...]
        }
        let end = rest.dropFirst(beginning.count).firstIndex(of: UInt8(ascii: " ")) ?? rest.endIndex
        let found = [MeasuredValue](performanceData: String(decoding: rest[..<end], as: UTF8.self))
        guard let value = found.first else { return nil }
        self = value
    }

    fileprivate static func quoted(_ name: String) -> String {
        "'\(name.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''"))'"
    }

    fileprivate init?(label: String, fields: Substring.UTF8View) {
        let parts = fields.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
        guard let first = parts.first else { return nil }
        let number = first.prefix { "+-.0123456789eE".utf8.contains($0) }
        let unit = first.dropFirst(number.count)
        guard let value = Double(String(Substring(number))), value.isFinite, unit.count <= Self.maximumBytes
        else { return nil }
        func limit(_ index: Int) -> Double? {
            guard parts.indices.contains(index) else { return nil }
            return Double(String(Substring(parts[index]))).flatMap { $0.isFinite ? $0 : nil }
        }
        self.init(label, value, String(Substring(unit)), warning: limit(1), critical: limit(2))
    }
}
