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
            let name = value.name.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''")
            var limits = [value.warning, value.critical].map { $0.map { ";\($0)" } ?? ";" }
            while limits.last == ";" { limits.removeLast() }
            return "'\(name)'=\(value.value)\(value.unit)" + limits.joined()
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
