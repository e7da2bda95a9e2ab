// SPDX-License-Identifier: Apache-2.0

/// Names the events that a revision counts, with 128 random bits, written as 32 hexadecimal digits.
///
/// It continues over clean restarts. After a crash nobody knows which events clients have seen, so there is another
/// one.
///
/// It is a number, not a text, because every event carries one.
public struct Epoch: Hashable, Sendable, CustomStringConvertible {
    private var high: UInt64
    private var low: UInt64

    /// The epoch that no daemon has.
    public static let none = Epoch(high: 0, low: 0)

    /// The length of its text.
    public static let length = 32

    private init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// A new epoch, unlike any other.
    public static func random() -> Epoch {
        Epoch(high: .random(in: 1 ... .max), low: .random(in: 0 ... .max))
    }

    /// Parses the form of ``description``; any other text is ``none``.
    public init(_ text: String) {
        var (high, low) = (UInt64(0), UInt64(0))
        let digits = Array(text.utf8)
        for digit in digits {
            guard digits.count == Self.length, let value = Self.value(of: digit) else {
                self = .none
                return
            }
            high = high << 4 | low >> 60
            low = low << 4 | value
        }
        self.init(high: high, low: low)
    }

    public var description: String {
        String(unsafeUninitializedCapacity: Self.length) { buffer in
            if let start = buffer.baseAddress { write(to: start) }
            return Self.length
        }
    }

    /// Writes the 32 characters of its text.
    public func write(to place: UnsafeMutablePointer<UInt8>) {
        Self.write(high, to: place)
        Self.write(low, to: place + 16)
    }

    private static func write(_ word: UInt64, to place: UnsafeMutablePointer<UInt8>) {
        for index in 0..<16 {
            let value = UInt8(truncatingIfNeeded: word &>> UInt64(60 &- 4 &* index)) & 15
            place[index] = value &+ (value < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") &- 10)
        }
    }

    private static func value(of digit: UInt8) -> UInt64? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(digit - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(digit - UInt8(ascii: "a") + 10)
        default: nil
        }
    }
}
