// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

extension Character {
    /// The number of terminal columns that the character needs: 0, 1 or 2; more for some Indic characters.
    ///
    /// It is computed by wcwidth(3). An emoji of several scalars, such as a family joined by U+200D, needs 2, although
    /// older terminals show its parts side by side (``hasCertainWidth``).
    public var displayWidth: Int {
        if let byte = asciiValue { return byte < 0x20 || byte == 0x7F ? 0 : 1 }
        if unicodeScalars.count > 1, isEmoji { return 2 }
        return unicodeScalars.reduce(0) { $0 + $1.displayWidth }
    }

    /// Whether all terminals agree on the character's width.
    ///
    /// They disagree on emoji of several scalars.
    public var hasCertainWidth: Bool { isASCII || unicodeScalars.count == 1 || !isEmoji }

    /// Whether a sequence of scalars is shown as one emoji (UTS #51).
    ///
    /// Such a sequence is a flag, or contains a variation selector, a skin tone or a joiner.
    private var isEmoji: Bool {
        unicodeScalars.contains {
            $0.value == 0xFE0F || $0.properties.isEmojiModifier || (0x1F1E6...0x1F1FF).contains($0.value)
                || $0.value == 0x200D && unicodeScalars.first?.properties.isEmoji ?? false
        }
    }
}

extension Unicode.Scalar {
    fileprivate var displayWidth: Int {
        let width = CharacterTypes.areLoaded ? Int(wcwidth(wchar_t(bitPattern: value))) : -1
        if width >= 0 { return width }
        // The character is newer than the C library.
        return properties.isEmojiPresentation ? 2 : properties.canonicalCombiningClass == .notReordered ? 1 : 0
    }
}

/// The C library's table of characters.
private enum CharacterTypes {
    /// Whether the table is loaded; this is tried at the first non-ASCII character.
    ///
    /// All other categories of the locale stay the same.
    static let areLoaded = setlocale(LC_CTYPE, "C.UTF-8") != nil
}

extension StringProtocol {
    /// The number of terminal columns that the text needs.
    public var displayWidth: Int {
        if utf8.allSatisfy({ 0x20..<0x7F ~= $0 }) { return utf8.count }
        return reduce(0) { $0 + $1.displayWidth }
    }

    /// Whether all terminals agree on the text's width.
    public var hasCertainWidth: Bool { utf8.allSatisfy { $0 < 0x80 } || allSatisfy(\.hasCertainWidth) }

    /// Returns as much of the text as fits into the columns.
    public func prefix(columns: Int) -> SubSequence {
        if utf8.count <= columns { return self[...] }
        var used = 0
        var end = startIndex
        for index in indices {
            used += self[index].displayWidth
            if used > columns { break }
            end = self.index(after: index)
        }
        return self[..<end]
    }

    /// Returns the text, cut to the columns if it is wider; a cut text ends in `ellipsis` if that fits.
    public func cut(to columns: Int, ellipsis: String = "") -> String {
        if displayWidth <= columns { return String(self) }
        let room = columns - ellipsis.displayWidth
        return room > 0 ? prefix(columns: room) + ellipsis : String(prefix(columns: Swift.max(0, columns)))
    }

    /// Returns the text in exactly this many columns: cut by ``cut(to:ellipsis:)``, or padded with spaces.
    public func fitted(to columns: Int, ellipsis: String = "") -> String {
        let text = cut(to: columns, ellipsis: ellipsis)
        return text + String(repeating: " ", count: Swift.max(0, columns - text.displayWidth))
    }

    /// Returns the text in at least this many columns, padded with spaces before it.
    public func alignedRight(in columns: Int) -> String {
        String(repeating: " ", count: Swift.max(0, columns - displayWidth)) + self
    }

    /// Returns the text in lines of at most this many columns, broken at spaces if possible.
    public func wrapped(to columns: Int) -> [String] {
        let columns = Swift.max(2, columns)
        if displayWidth <= columns { return [String(self)] }
        var lines: [String] = []
        var line = ""
        for word in split(separator: " ", omittingEmptySubsequences: false) {
            let longer = lines.isEmpty && line.isEmpty ? String(word) : line + " " + word
            if longer.displayWidth <= columns {
                line = longer
                continue
            }
            if !line.isEmpty { lines.append(line) }
            line = String(word)
            while line.displayWidth > columns {
                // A line has at least one character, even if it is too wide.
                let part = line.prefix(columns: columns).isEmpty ? line.prefix(1) : line.prefix(columns: columns)
                lines.append(String(part))
                line.removeFirst(part.count)
            }
        }
        return lines + [line]
    }
}
