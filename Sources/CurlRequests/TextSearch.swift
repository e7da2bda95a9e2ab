// SPDX-License-Identifier: Apache-2.0

import CCurl

/// Looks for a text in bytes that come in pieces; keeps no more of them than the text is long.
///
/// Takes time in proportion to the number of bytes, whatever they are (memmem(3)).
struct TextSearch {
    private let text: [UInt8]
    /// The last bytes, of which the text may have begun.
    private var tail: [UInt8] = []
    /// Whether the text has been there.
    private(set) var isFound: Bool

    init(_ text: String) {
        self.text = Array(text.utf8)
        isFound = text.isEmpty
    }

    /// Looks at the bytes that follow.
    mutating func look(at bytes: UnsafeRawBufferPointer) {
        if isFound { return }
        tail += bytes
        isFound = memmem(tail, tail.count, text, text.count) != nil
        tail.removeFirst(max(0, tail.count - (text.count - 1)))
    }
}
