// SPDX-License-Identifier: Apache-2.0

/// A hash that is the same in every run, unlike Swift's own: FNV-1a with 64 bits.
///
/// It is not cryptographic: two texts with the same hash are easy to find.
public struct StableHash: Sendable {
    /// The hash of the texts so far.
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
