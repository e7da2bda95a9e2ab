// SPDX-License-Identifier: Apache-2.0

/// A host name or address, with or without a port: `example.org`, `127.0.0.1:80`, `[::1]:80`.
///
/// An IPv6 address must be in brackets.
struct HostAndPort: Equatable {
    /// The host, without the brackets of an IPv6 address.
    var host: String
    var port: UInt16?

    /// Parses a host without a port, which may be an IPv6 address without brackets; nil if it is invalid.
    static func host(_ text: String) -> String? {
        let isBare = text.first != "[" && text.utf8.count { $0 == UInt8(ascii: ":") } > 1
        guard let parsed = HostAndPort(isBare ? "[\(text)]" : text), parsed.port == nil else { return nil }
        return parsed.host
    }

    /// Parses a text; nil if it is invalid.
    init?(_ text: some StringProtocol) {
        var rest = text[...]
        if rest.first == "[" {
            guard let end = rest.firstIndex(of: "]") else { return nil }
            let address = rest[rest.index(after: rest.startIndex)..<end]
            guard address.contains(":"), address.allSatisfy({ $0.isHexDigit || ":.%".contains($0) || $0.isLetter })
            else {
                return nil
            }
            host = String(address)
            rest = rest[rest.index(after: end)...]
        } else {
            let end = rest.firstIndex(of: ":") ?? rest.endIndex
            host = String(rest[..<end])
            guard !host.isEmpty, host.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && !"[]/@".utf8.contains($0) }) else {
                return nil
            }
            rest = rest[end...]
        }
        if rest.isEmpty { return }
        let digits = rest.dropFirst()
        guard rest.first == ":", digits.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let port = UInt16(digits),
            port > 0
        else { return nil }
        self.port = port
    }
}
