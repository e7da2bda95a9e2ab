// SPDX-License-Identifier: Apache-2.0

/// The name of a server: `[A-Za-z0-9][A-Za-z0-9._:@-]{0,63}`.
///
/// A valid name is safe as a file name, in a journal field and on a terminal.
public struct ServerName: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The maximum length, in bytes.
    public static let maximumLength = 64

    /// The rule for names, for messages.
    public static let rule =
        "must start with a letter or digit, followed by at most 63 of A-Z a-z 0-9 . _ : @ -"

    /// In place of a server's name: whichever server is the worst, unless a server has this name.
    public static let worst = ServerName(literal: "worst")

    /// In an alert that is only a test.
    public static let test = ServerName(literal: "test")

    public let rawValue: String

    private init(literal: StaticString) { rawValue = "\(literal)" }

    /// Creates a name from `text`; nil if it is invalid.
    public init?(_ text: String) {
        var text = text
        guard text.withUTF8({ Self.isName($0) }) else { return nil }
        rawValue = text
    }

    private static func isName(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let first = bytes.first, isAlphanumeric(first), bytes.count <= maximumLength else { return false }
        for byte in bytes where !isAllowed(byte) { return false }
        return true
    }

    public var description: String { rawValue }

    public static func < (left: ServerName, right: ServerName) -> Bool { left.rawValue < right.rawValue }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        // A letter and its capital differ in one bit.
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        if isAlphanumeric(byte) { return true }
        return switch byte {
        case UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "-"): true
        default: false
        }
    }
}
