// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The text of a status: one visible line of 1 to 1024 bytes of UTF-8.
///
/// White space around it is removed, and invisible characters are escaped (``VisibleText``), before its length is
/// checked.
public struct StatusText: Hashable, Sendable, CustomStringConvertible {
    /// The longest text, in bytes of UTF-8.
    public static let maximumLength = 1024

    /// The most bytes to read; no reasonable text has more white space around it.
    private static let maximumRead = 8 * maximumLength

    /// The text itself.
    public let rawValue: String

    /// Takes `text` as it is.
    ///
    /// - Throws: ``InvalidStatus`` if it is empty or too long.
    public init(_ text: consuming String) throws(InvalidStatus) {
        let visible = try Self.visible(text)
        if visible.isEmpty { throw .empty }
        let length = visible.utf8.count
        if length > Self.maximumLength { throw .tooLong(length) }
        rawValue = visible
    }

    /// Takes as much of `text` as fits; nil if it is empty.
    ///
    /// For sources that cannot be told of an error. A text that is too long is cut after a character and ends in `…`.
    public init?(fitting text: String) {
        let text = Self.trim(Self.beginning(of: text[...], Self.maximumRead))
        if text.isEmpty { return nil }
        // Even without escapes, the rest would be cut.
        let beginning = Self.beginning(of: text, Self.maximumLength + 4)
        let visible = VisibleText.escape(beginning)
        let isWhole = visible.utf8.count <= Self.maximumLength && beginning.endIndex == text.endIndex
        rawValue = isWhole ? visible : Self.cut(visible)
    }

    /// The level's word, for a status without a text.
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

    private static func visible(_ text: consuming String) throws(InvalidStatus) -> String {
        if text.withUTF8({ VisibleText.isPlain($0) && $0.first != 0x20 && $0.last != 0x20 }) { return text }
        if text.utf8.count > maximumRead { throw .tooLong(text.utf8.count) }
        let text = trim(text[...])
        // Escaping does not make it shorter, but may take long.
        if text.utf8.count > maximumLength { throw .tooLong(text.utf8.count) }
        return VisibleText.escape(text)
    }

    /// The text without white space around it.
    private static func trim(_ text: Substring) -> Substring {
        let scalars = text.unicodeScalars
        guard let start = scalars.firstIndex(where: { !$0.properties.isWhitespace }),
            let end = scalars.lastIndex(where: { !$0.properties.isWhitespace })
        else { return "" }
        // Not in the text itself, where finding the next index segments characters.
        return Substring(scalars[start...end])
    }

    /// The longest prefix of whole characters within so many bytes.
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

/// Why a text is not valid for a status.
public enum InvalidStatus: Error, Hashable, Sendable, CustomStringConvertible {
    /// Nothing but white space.
    case empty
    /// This many bytes, which are more than ``StatusText/maximumLength``.
    case tooLong(Int)

    public var description: String {
        switch self {
        case .empty: "the text is empty"
        case .tooLong(let length):
            "the text has \(length) bytes, more than \(StatusText.maximumLength)"
        }
    }
}
