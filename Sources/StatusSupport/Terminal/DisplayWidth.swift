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
}
