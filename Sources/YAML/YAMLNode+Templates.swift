// SPDX-License-Identifier: Apache-2.0

import StatusSupport

extension YAMLNode {
    /// Returns the value with `text` in place of each `{}` in its scalars; keys stay as they are.
    ///
    /// A scalar with a `{}` becomes a text, as if it were quoted. Positions stay.
    public func replacingBraces(with text: String) -> YAMLNode {
        switch content {
        case .scalar(let scalar, _):
            guard let replaced = Self.replaceBraces(in: scalar, with: text) else { return self }
            return YAMLNode(.scalar(StreamSafeText.text(replaced), isPlain: false), mark: mark)
        case .sequence(let nodes):
            return YAMLNode(.sequence(nodes.map { $0.replacingBraces(with: text) }), mark: mark)
        case .mapping(let members):
            return YAMLNode(.mapping(members.map { ($0.key, $0.value.replacingBraces(with: text)) }), mark: mark)
        }
    }

    /// Returns a mapping without some keys; another value stays as it is.
    public func without(_ keys: [String]) -> YAMLNode {
        guard let mapping else { return self }
        return YAMLNode(.mapping(mapping.filter { !keys.contains($0.key.string ?? "") }), mark: mark)
    }

    /// The value of a key of a mapping; nil if it has none.
    public func value(of key: String) -> YAMLNode? { mapping?.first { $0.key.string == key }?.value }

    /// About how many bytes it takes with texts of `length` bytes in place of each `{}`.
    public func weight(withBraces length: Int) -> Int {
        let node = 32
        switch content {
        case .scalar(let scalar, _):
            let bytes = scalar.utf8
            let braces = zip(bytes, bytes.dropFirst()).count { $0 == UInt8(ascii: "{") && $1 == UInt8(ascii: "}") }
            return node + bytes.count + braces * length
        case .sequence(let nodes): return nodes.reduce(node) { $0 + $1.weight(withBraces: length) }
        case .mapping(let members):
            return members.reduce(node) {
                $0 + $1.key.weight(withBraces: 0) + $1.value.weight(withBraces: length)
            }
        }
    }

    /// Returns nil if there are no braces.
    private static func replaceBraces(in scalar: String, with text: String) -> String? {
        var (result, rest) = ([UInt8](), Array(scalar.utf8)[...])
        var isChanged = false
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "{"), rest.first == UInt8(ascii: "}") {
                rest.removeFirst()
                result += text.utf8
                isChanged = true
            } else {
                result.append(byte)
            }
        }
        return isChanged ? String(decoding: result, as: UTF8.self) : nil
    }
}
