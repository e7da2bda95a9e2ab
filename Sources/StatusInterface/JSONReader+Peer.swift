// SPDX-License-Identifier: Apache-2.0

import StatusModel
import Varlink

/// Values of a peer that may not be statusd: a client must neither crash nor need much memory whatever they are.
extension JSONReader {
    /// The longest text that is kept, in bytes; statusd's own are shorter.
    private static let longestText = 4096
    /// The largest number of milliseconds or changes: 35,000 years, so that the sum of a thousand parts with four
    /// levels fits.
    private static let largestAmount = 1 << 50

    /// Reads a text for people, without controls; what is too long is cut after a scalar and ends in `…`.
    mutating func visibleText() throws(JSONError) -> String {
        VisibleText.excerpt(try string(), bytes: Self.longestText)
    }

    /// Reads such a text or null.
    mutating func visibleTextIfAny() throws(JSONError) -> String? { try isNull() ? nil : try visibleText() }

    /// Reads milliseconds, or a number of changes.
    mutating func amount() throws(JSONError) -> Int {
        let number = try integer()
        guard 0...Self.largestAmount ~= number else { throw JSONError(.number) }
        return number
    }
}
