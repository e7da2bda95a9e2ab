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
/// It is stored as text, because every event contains it.
public struct Epoch: Hashable, Sendable, CustomStringConvertible {
    /// The 32 digits.
    private struct Digits: Hashable {
        private var (first, second, third, fourth) = (UInt64(0), UInt64(0), UInt64(0), UInt64(0))

        /// Creates digits from a function of their positions.
        init(_ digit: (Int) -> UInt8) {
            withUnsafeMutableBytes(of: &self) { bytes in
                for index in bytes.indices { bytes[index] = digit(index) }
            }
        }
    }

    private let digits: Digits

    /// The epoch that no daemon uses.
    public static let none = Epoch(digits: Digits { _ in UInt8(ascii: "0") })

    public static let length = 32

    private init(digits: Digits) { self.digits = digits }

    /// Returns a new epoch that differs from all others.
    public static func random() -> Epoch {
        Epoch(
            digits: Digits { _ in
                let value = UInt8.random(in: 0..<16)
                return value + (value < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
            })
    }

    /// Parses the form of ``description``; any other text is ``none``.
    public init(_ text: String) {
        let text = Array(text.utf8)
        let isEpoch = text.count == Self.length && text.allSatisfy(Self.isDigit)
        self = isEpoch ? Epoch(digits: Digits { text[$0] }) : .none
    }

    public var description: String {
        String(unsafeUninitializedCapacity: Self.length) { buffer in
            if let start = buffer.baseAddress { write(to: start) }
            return Self.length
        }
    }

    /// Writes the 32 characters of the text.
    public func write(to start: UnsafeMutablePointer<UInt8>) {
        UnsafeMutableRawPointer(start).storeBytes(of: digits, as: Digits.self)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
        default: false
        }
    }
}
