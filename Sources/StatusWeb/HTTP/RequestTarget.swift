// SPDX-License-Identifier: Apache-2.0

#if Web
/// The path and the query of a request (RFC 3986), decoded.
struct RequestTarget: Equatable {
    /// The parts of the path between slashes; empty for `/`.
    var path: [String]
    /// The parameters of the query, in order.
    var query: [(name: String, value: String)]

    static func == (left: RequestTarget, right: RequestTarget) -> Bool {
        left.path == right.path && left.query.elementsEqual(right.query, by: ==)
    }

    /// Reads a target such as `/api/history/db?limit=10`; nil if it is invalid, or that of a proxy.
    init?(_ text: String) {
        guard text.utf8.first == UInt8(ascii: "/") else { return nil }
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        (path, query) = ([], [])
        for part in parts[0].dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            guard let decoded = Self.decode(part, plusIsBlank: false) else { return nil }
            path.append(decoded)
        }
        if path == [""] { path = [] }
        guard parts.count > 1 else { return }
        for pair in parts[1].split(separator: "&") {
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decode(sides[0], plusIsBlank: true),
                let value = Self.decode(sides.count > 1 ? sides[1] : "", plusIsBlank: true)
            else { return nil }
            query.append((name, value))
        }
    }

    /// The values of a parameter.
    func values(_ name: String) -> [String] { query.filter { $0.name == name }.map(\.value) }

    /// The last value of a parameter; nil if it is missing or empty.
    subscript(name: String) -> String? { values(name).last.flatMap { $0.isEmpty ? nil : $0 } }

    /// Decodes percent escapes; nil if they are invalid, or stand for a zero byte or for what is not UTF-8.
    private static func decode(_ text: Substring, plusIsBlank: Bool) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8.makeIterator()
        while let byte = rest.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.next().flatMap(digit), let low = rest.next().flatMap(digit),
                    high << 4 | low != 0
                else { return nil }
                bytes.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsBlank: bytes.append(UInt8(ascii: " "))
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// The value of a hexadecimal digit.
    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
#endif
