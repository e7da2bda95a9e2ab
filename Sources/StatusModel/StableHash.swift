// SPDX-License-Identifier: Apache-2.0

/// A hash that is the same in every run, unlike Swift's (FNV-1a, 64 bits).
///
/// It does not protect against somebody who looks for two texts with the same hash.
public struct StableHash: Sendable {
    /// The hash of what was combined so far.
    public private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

    public init() {}

    /// The hash of a text.
    public init(of text: String) { for byte in text.utf8 { combine(byte) } }

    /// Adds a text and its end, so that two texts differ from their concatenation.
    public mutating func combine(_ text: String) {
        for byte in text.utf8 { combine(byte) }
        combine(0)
    }

    private mutating func combine(_ byte: UInt8) { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
}
