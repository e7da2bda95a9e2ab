// SPDX-License-Identifier: Apache-2.0

import StatusModel
@_spi(_Unicode) import Swift

/// Properties of texts that others wrote.
enum TextProperties {
    /// Comparing or hashing a text takes a time in proportion to its length.
    ///
    /// Swift sorts the combining characters that follow each other after canonical decomposition, so there must be few
    /// of them.
    static func expectCheapToCompare(_ text: String) {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return }
        var count = 0
        for scalar in text._nfd {
            count = scalar.properties.canonicalCombiningClass == .notReordered ? 0 : count + 1
            expect(count <= maximumInRow, "few combining characters follow each other")
        }
    }

    /// StreamSafeText lets 30 characters follow each other, and each becomes at most four (UAX #15, section 12).
    private static let maximumInRow = 4 * 30

    /// A text is one line, and shows everything that it contains.
    static func expectVisible(_ text: String) {
        let hasControls = text.unicodeScalars.contains(where: VisibleText.isControl)
        expect(!hasControls, "no control characters: \(text.debugDescription)")
        expect(VisibleText.escape(text).utf8.elementsEqual(text.utf8), "escaping twice changes nothing")
    }

    /// The text of a status is one visible line of 1 to 1024 bytes, and is the same if it is read again.
    static func expectValid(_ text: StatusText) {
        expect((1...StatusText.maximumLength).contains(text.rawValue.utf8.count), "1 to 1024 bytes")
        expectVisible(text.rawValue)
        expect(StatusText(fitting: text.rawValue) == text, "a text that fits stays as it is")
        expect((try? StatusText(text.rawValue)) == text, "a text that was read is valid")
    }
}
