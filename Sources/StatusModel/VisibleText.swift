// SPDX-License-Identifier: Apache-2.0

/// Makes text from outside safe to show: no character moves the cursor, ends the line or changes the writing direction.
///
/// C0 and C1 controls, DEL, the line and paragraph separators and the bidirectional controls become visible escapes as
/// Swift writes them (`\n`, `\u{9b}`). Everything else stays as it is, so that escaping twice changes nothing.
public enum VisibleText {
    /// Returns `text` with its invisible controls escaped.
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

    /// Returns the beginning of `text`, escaped, with at most so many bytes before the `…` in which a longer text ends.
    public static func excerpt(_ text: String, bytes limit: Int) -> String {
        // Escapes only make it longer, so the rest would be cut.
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

    /// Whether one of eight bytes is not printable ASCII: its highest bit is set, or would be with one added, or with
    /// 0x20 taken away.
    @inline(__always)
    private static func hasOther(_ word: UInt64) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        return (word | (word &+ ones) | (word &- ones &* 0x20)) & (ones &* 0x80) != 0
    }

    private static func mayBelongToControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte >= 0x7f }

    /// Whether a scalar is one of these controls.
    public static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7f..<0xa0: true  // C0, DEL, C1
        case 0x2028, 0x2029: true  // line and paragraph separators
        case 0x061c, 0x200e, 0x200f, 0x202a...0x202e, 0x2066...0x2069: true  // bidirectional controls
        default: false
        }
    }

    /// The escapes of the first controls, made once because a text may contain many.
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
