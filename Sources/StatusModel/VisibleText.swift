// SPDX-License-Identifier: Apache-2.0

/// Makes text from outside safe to show: it cannot move the cursor, end the line or change the writing direction.
///
/// C0 and C1 controls, DEL, the line and paragraph separators and the bidirectional controls become visible escapes in
/// Swift's syntax (`\n`, `\u{9b}`). Everything else is unchanged, so escaping twice has no further effect.
public enum VisibleText {
    /// Returns `text` with control characters escaped.
    public static func escape(_ text: some StringProtocol) -> String {
        guard text.utf8.contains(where: mayBelongToControl) else { return String(text) }
        var visible = ""
        visible.reserveCapacity(text.utf8.count + 8)
        for scalar in text.unicodeScalars {
            if isControl(scalar) {
                visible += escaped(scalar)
            } else {
                visible.unicodeScalars.append(scalar)
            }
        }
        return visible
    }

    /// Returns at most this many bytes of `text`, escaped; a longer text is cut and ends in `…`.
    public static func excerpt(_ text: String, bytes limit: Int) -> String {
        // Escaping never shortens a text, so the rest would be cut.
        let beginning = text.utf8.index(text.startIndex, offsetBy: limit, limitedBy: text.endIndex) ?? text.endIndex
        let visible = escape(String(text.unicodeScalars[..<beginning]))
        if visible.utf8.count <= limit, beginning == text.endIndex { return visible }
        let end =
            visible.utf8.index(visible.startIndex, offsetBy: limit, limitedBy: visible.endIndex) ?? visible.endIndex
        return String(visible.unicodeScalars[..<end]) + "…"
    }

    /// Whether every byte is printable ASCII.
    static func isPlain(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let raw = UnsafeRawBufferPointer(bytes)
        var index = 0
        while index &+ 8 <= raw.count {
            if hasOther(raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)) { return false }
            index &+= 8
        }
        return raw[index...].allSatisfy { 0x20..<0x7f ~= $0 }
    }

    /// Whether one of eight bytes is not printable ASCII.
    ///
    /// The highest bit of such a byte is set, or becomes set by adding 1 or subtracting 0x20.
    @inline(__always)
    private static func hasOther(_ word: UInt64) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        return (word | (word &+ ones) | (word &- ones &* 0x20)) & (ones &* 0x80) != 0
    }

    private static func mayBelongToControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte >= 0x7f }

    public static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7f..<0xa0: true  // C0, DEL, C1
        case 0x2028, 0x2029: true  // line and paragraph separators
        case 0x061c, 0x200e, 0x200f, 0x202a...0x202e, 0x2066...0x2069: true  // bidirectional controls
        default: false
        }
    }

    /// The escapes of the first controls, computed once, because a text may contain many.
    private static let firstEscapes = (0..<0xa0).map { spelled(Unicode.Scalar(UInt8($0))) }

    private static func escaped(_ scalar: Unicode.Scalar) -> String {
        scalar.value < firstEscapes.count ? firstEscapes[Int(scalar.value)] : spelled(scalar)
    }

    private static func spelled(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\0": "\\0"
        case "\t": "\\t"
        case "\n": "\\n"
        case "\r": "\\r"
        default: "\\u{\(String(scalar.value, radix: 16))}"
        }
    }
}

extension String {
    /// The text of a system or library error as part of a sentence: one line without a final full stop.
    ///
    /// It begins in lower case, unless the first word is a name.
    public var asPhrase: String {
        let words = split(whereSeparator: \.isWhitespace)
        let isName = words.first?.dropFirst().contains(where: \.isUppercase) ?? false
        var phrase = words.joined(separator: " ")
        if phrase.hasSuffix(".") { phrase.removeLast() }
        return isName ? phrase : phrase.prefix(1).lowercased() + phrase.dropFirst()
    }
}
