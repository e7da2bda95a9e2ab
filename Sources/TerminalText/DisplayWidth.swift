// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

extension Character {
    /// The number of columns that a terminal needs for the character: 0, 1 or 2; more for some Indic ones.
    ///
    /// A terminal's columns are those of wcwidth(3). For an emoji of several scalars, such as a family joined by
    /// U+200D, it is 2, although an older terminal shows the parts side by side (``hasCertainWidth``).
    public var displayWidth: Int {
        if let byte = asciiValue { return byte < 0x20 || byte == 0x7F ? 0 : 1 }
        if unicodeScalars.count > 1, isEmoji { return 2 }
        return unicodeScalars.reduce(0) { $0 + $1.displayWidth }
    }

    /// Whether all terminals agree on the character's width.
    ///
    /// They do not for emoji of several scalars.
    public var hasCertainWidth: Bool { isASCII || unicodeScalars.count == 1 || !isEmoji }

    /// Whether a sequence of scalars is shown as one emoji (UTS #51): one with a selector, a skin tone or a joiner, or
    /// a flag.
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
        // One that is newer than the C library.
        return properties.isEmojiPresentation ? 2 : properties.canonicalCombiningClass == .notReordered ? 1 : 0
    }
}

/// The C library's table of characters.
private enum CharacterTypes {
    /// Loaded with the first character that is not in ASCII.
    ///
    /// All other properties of the locale stay.
    static let areLoaded = setlocale(LC_CTYPE, "C.UTF-8") != nil
}

extension StringProtocol {
    /// The number of columns that a terminal needs for the text.
    public var displayWidth: Int {
        if utf8.allSatisfy({ 0x20..<0x7F ~= $0 }) { return utf8.count }
        return reduce(0) { $0 + $1.displayWidth }
    }

    /// Whether all terminals agree on the text's width.
    public var hasCertainWidth: Bool { utf8.allSatisfy { $0 < 0x80 } || allSatisfy(\.hasCertainWidth) }
}
