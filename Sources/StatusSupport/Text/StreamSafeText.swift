// SPDX-License-Identifier: Apache-2.0

/// The Stream-Safe Text Process of Unicode (UAX #15, section 13).
///
/// Swift compares, hashes and searches strings by canonical equivalence. For that it sorts runs of combining
/// characters, in quadratic time: a message of 64 KiB takes seconds. So text from other processes must not contain long
/// runs if it is compared.
package enum StreamSafeText {
    /// The maximum number of combining characters in a row; no language needs more.
    private static let maximum = 30

    /// Returns the text with a combining grapheme joiner (U+034F) after 30 combining characters in a row.
    ///
    /// The joiner is invisible.
    package static func text(_ text: consuming String) -> String {
        guard let separated = text.withUTF8(separated) else { return text }
        return String(decoding: separated, as: UTF8.self)
    }

    /// The text with joiners; nil if it needs none.
    private static func separated(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        var separated: [UInt8] = []
        var (start, offset, count) = (0, 0, 0)
        while offset < text.count {
            let lead = text[offset]
            let length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4
            let marks = mayCombine(lead) ? combiningCharacters(text, offset, length) : 0
            count = marks == 0 ? 0 : count + marks
            if count > maximum {
                separated += text[start..<offset]
                separated += "\u{34F}".utf8
                (start, count) = (offset, marks)
            }
            offset += length
        }
        return start == 0 ? nil : separated + text[start...]
    }

    /// Whether a combining character may start with this byte.
    ///
    /// ASCII and Latin letters, ideographs and Hangul syllables do not.
    private static func mayCombine(_ lead: UInt8) -> Bool {
        switch lead {
        case ..<0xCC, 0xE4...0xE9, 0xEB...0xED: false
        default: true
        }
    }

    /// The number of combining characters into which the character at an offset is decomposed.
    private static func combiningCharacters(
        _ text: UnsafeBufferPointer<UInt8>, _ offset: Int, _ length: Int
    ) -> Int {
        func bits(_ index: Int) -> UInt32 { UInt32(text[offset &+ index] & 0x3F) }
        let value =
            switch length {
            case 2: UInt32(text[offset] & 0x1F) &<< 6 | bits(1)
            case 3: UInt32(text[offset] & 0x0F) &<< 12 | bits(1) &<< 6 | bits(2)
            default: UInt32(text[offset] & 0x07) &<< 18 | bits(1) &<< 12 | bits(2) &<< 6 | bits(3)
            }
        switch value {
        // Tibetan vowel signs without a combining class that decompose into two characters with one.
        case 0x0F73, 0x0F75, 0x0F81: return 2
        default:
            guard let scalar = Unicode.Scalar(value) else { return 0 }
            return scalar.properties.canonicalCombiningClass == .notReordered ? 0 : 1
        }
    }
}
