// SPDX-License-Identifier: Apache-2.0

/// A position in the daemon's event log.
public struct Cursor: Hashable, Sendable, CustomStringConvertible {
    /// The epoch of the event log.
    public var epoch: Epoch
    /// The number of the event in the epoch.
    public var revision: Int

    /// The position after event number `revision` of `epoch`.
    public init(epoch: Epoch, revision: Int) {
        self.epoch = epoch
        self.revision = revision
    }

    public var description: String { "\(epoch):\(revision)" }
}

/// Identifies an event log: 128 random bits, written as 32 hexadecimal digits.
///
/// A clean restart keeps the epoch. After a crash it is unknown which events clients have seen, so a new one begins.
///
/// It is stored as a number, not as text, because every event contains it.
public struct Epoch: Hashable, Sendable, CustomStringConvertible {
    private var high: UInt64
    private var low: UInt64

    /// The epoch that no daemon uses.
    public static let none = Epoch(high: 0, low: 0)

    public static let length = 32

    private init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Returns a new epoch that differs from all others.
    public static func random() -> Epoch { Epoch(high: .random(in: 1 ... .max), low: .random(in: 0 ... .max)) }

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

    /// Writes the 32 characters of the text.
    public func write(to start: UnsafeMutablePointer<UInt8>) {
        Self.write(high, to: start)
        Self.write(low, to: start + 16)
    }

    private static func write(_ word: UInt64, to start: UnsafeMutablePointer<UInt8>) {
        for index in 0..<16 {
            let value = UInt8(truncatingIfNeeded: word &>> UInt64(60 &- 4 &* index)) & 15
            start[index] = value &+ (value < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") &- 10)
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
