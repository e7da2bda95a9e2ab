// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The text of a status: one visible line of 1 to 1024 bytes of UTF-8.
///
/// Surrounding white space is removed and control characters are escaped (``VisibleText``) before the length check.
public struct StatusText: Hashable, Sendable, CustomStringConvertible {
    /// The maximum length, in bytes of UTF-8.
    public static let maximumLength = 1024

    /// The maximum number of bytes to read, including surrounding white space.
    private static let maximumRead = 8 * maximumLength

    public let rawValue: String

    /// Creates a status text from the whole of `text`.
    ///
    /// - Throws: ``InvalidStatus`` if it is empty or too long.
    public init(_ text: consuming String) throws(InvalidStatus) {
        let visible = try Self.visible(text)
        if visible.isEmpty { throw .empty }
        let length = visible.utf8.count
        if length > Self.maximumLength { throw .tooLong(length) }
        rawValue = visible
    }

    /// Creates a status text from as much of `text` as fits; nil if it is empty.
    ///
    /// It is for sources that cannot receive errors. A text that is too long is cut after a character and ends in `…`.
    public init?(fitting text: String) {
        var text = text
        if Self.isPlain(&text), 1...Self.maximumLength ~= text.utf8.count {
            rawValue = text
            return
        }
        let trimmed = Self.trim(Self.beginning(of: text[...], Self.maximumRead))
        if trimmed.isEmpty { return nil }
        // The rest would be cut even if nothing is escaped.
        let beginning = Self.beginning(of: trimmed, Self.maximumLength + 4)
        let visible = VisibleText.escape(beginning)
        let isWhole = visible.utf8.count <= Self.maximumLength && beginning.endIndex == trimmed.endIndex
        rawValue = isWhole ? visible : Self.cut(visible)
    }

    /// Creates a text of this program, which must be visible and short.
    public init(label: StaticString) { rawValue = "\(label)" }

    /// Creates the name of the level, for a status without a text.
    public init(of level: Level) { rawValue = level.rawValue }

    public var description: String { rawValue }

    /// Compares the bytes.
    ///
    /// Comparing by canonical equivalence, as `String` does, can take a thousand times as long.
    public static func == (left: StatusText, right: StatusText) -> Bool {
        var (left, right) = (left.rawValue, right.rawValue)
        return left.withUTF8 { left in
            right.withUTF8 { right in
                guard left.count == right.count, let left = left.baseAddress, let start = right.baseAddress else {
                    return false
                }
                return memcmp(left, start, right.count) == 0
            }
        }
    }

    public func hash(into hasher: inout Hasher) {
        var text = rawValue
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }

    /// Whether nothing has to be removed or escaped.
    private static func isPlain(_ text: inout String) -> Bool {
        text.withUTF8 { VisibleText.isPlain($0) && $0.first != 0x20 && $0.last != 0x20 }
    }

    private static func visible(_ text: consuming String) throws(InvalidStatus) -> String {
        if isPlain(&text) { return text }
        if text.utf8.count > maximumRead { throw .tooLong(text.utf8.count) }
        let text = trim(text[...])
        // Escaping never shortens a text, and may take long.
        if text.utf8.count > maximumLength { throw .tooLong(text.utf8.count) }
        return VisibleText.escape(text)
    }

    /// Returns the text without surrounding white space.
    private static func trim(_ text: Substring) -> Substring {
        let scalars = text.unicodeScalars
        guard let start = scalars.firstIndex(where: { !$0.properties.isWhitespace }),
            let end = scalars.lastIndex(where: { !$0.properties.isWhitespace })
        else { return "" }
        // Index the scalars: finding the next index of the text itself segments characters.
        return Substring(scalars[start...end])
    }

    /// Returns the longest prefix of whole scalars within this many bytes.
    private static func beginning(of text: Substring, _ count: Int) -> Substring {
        guard let limit = text.utf8.index(text.startIndex, offsetBy: count, limitedBy: text.endIndex) else {
            return text
        }
        return Substring(text.unicodeScalars[..<limit])
    }

    private static func cut(_ text: String) -> String {
        let ellipsis = "…"
        var room = maximumLength - ellipsis.utf8.count
        var kept = ""
        if text.utf8.allSatisfy({ $0 < 0x80 }) {
            return String(decoding: text.utf8.prefix(room), as: UTF8.self) + ellipsis
        }
        for character in text {
            room -= character.utf8.count
            if room < 0 { break }
            kept.append(character)
        }
        return kept + ellipsis
    }
}

/// The reason why a text is not a valid status text.
public enum InvalidStatus: Error, Hashable, Sendable, CustomStringConvertible {
    /// The text is empty or consists of white space.
    case empty
    /// The text has this many bytes, more than ``StatusText/maximumLength``.
    case tooLong(Int)

    public var description: String {
        switch self {
        case .empty: "the text is empty"
        case .tooLong(let length): "the text has \(length) bytes, more than \(StatusText.maximumLength)"
        }
    }
}
