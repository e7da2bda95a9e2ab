// SPDX-License-Identifier: Apache-2.0

/// An action with the keyboard or the mouse.
public enum Key: Hashable, Sendable {
    case character(Character)
    /// A letter with the control key, in lower case.
    case control(Character)
    case up, down, left, right, pageUp, pageDown, home, end
    case enter, escape, backspace
    /// The left mouse button was pressed at this row and column, counted from 0.
    case click(row: Int, column: Int)
    case wheelUp, wheelDown
}

/// Reads keys from the bytes that a terminal sends: xterm's control sequences, which all terminals use today.
public struct KeyDecoder {
    /// The maximum length of a sequence; longer ones are dropped.
    private static let longestSequence = 32

    private var pending: [UInt8] = []

    public init() {}

    /// Whether an incomplete sequence is pending, which may be the escape key alone.
    public var isUndecided: Bool { !pending.isEmpty }

    /// Takes bytes and returns the keys that they complete.
    public mutating func keys(_ bytes: some Sequence<UInt8>) -> [Key] {
        pending += bytes
        var keys: [Key] = []
        while let (key, count) = Self.next(pending[...]) {
            pending.removeFirst(count)
            if let key { keys.append(key) }
        }
        return keys
    }

    /// Drops the pending sequence, and returns the escape key if that was pressed.
    ///
    /// Call it when nothing has followed for a while.
    public mutating func flush() -> [Key] {
        defer { pending = [] }
        return pending == [0x1B] ? [.escape] : []
    }

    /// Returns the next key and the number of its bytes; nil if more bytes are needed.
    ///
    /// The key is nil if its bytes have no meaning.
    private static func next(_ bytes: ArraySlice<UInt8>) -> (Key?, Int)? {
        guard let first = bytes.first else { return nil }
        switch first {
        case 0x1B: return escape(bytes)
        case 0x0D, 0x0A: return (.enter, 1)
        case 0x08, 0x7F: return (.backspace, 1)
        case 0x01...0x1A: return (.control(Character(Unicode.Scalar(first + 0x60))), 1)
        case 0x00, 0x1C...0x1F: return (nil, 1)
        default: return text(bytes, first)
        }
    }

    private static func text(_ bytes: ArraySlice<UInt8>, _ first: UInt8) -> (Key?, Int)? {
        let count = first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1
        guard bytes.count >= count else { return nil }
        let character = String(validating: bytes.prefix(count), as: UTF8.self)?.first
        return (character.map { .character($0) }, character == nil ? 1 : count)
    }

    private static func escape(_ bytes: ArraySlice<UInt8>) -> (Key?, Int)? {
        let rest = bytes.dropFirst()
        guard let second = rest.first else { return nil }
        switch second {
        case UInt8(ascii: "["): return sequence(rest.dropFirst())
        // Application mode: ESC O and a letter.
        case UInt8(ascii: "O"): return rest.dropFirst().first.map { (named($0, []), 3) }
        // The escape key, followed by another key.
        default: return (.escape, 1)
        }
    }

    /// Reads a control sequence after `ESC [`: parameters and a final byte.
    private static func sequence(_ bytes: ArraySlice<UInt8>) -> (Key?, Int)? {
        guard let end = bytes.firstIndex(where: { 0x40...0x7E ~= $0 }) else {
            return bytes.count > longestSequence ? (nil, bytes.count + 2) : nil
        }
        let count = end - bytes.startIndex + 3
        let text = String(decoding: bytes[..<end], as: UTF8.self)
        let isMouse = text.hasPrefix("<")
        let parameters = (isMouse ? text.dropFirst() : text[...]).split(separator: ";").map { Int($0) ?? 0 }
        return (isMouse ? mouse(bytes[end], parameters) : named(bytes[end], parameters), count)
    }

    private static func named(_ final: UInt8, _ parameters: [Int]) -> Key? {
        switch final {
        case UInt8(ascii: "A"): .up
        case UInt8(ascii: "B"): .down
        case UInt8(ascii: "C"): .right
        case UInt8(ascii: "D"): .left
        case UInt8(ascii: "H"): .home
        case UInt8(ascii: "F"): .end
        case UInt8(ascii: "M"): .enter
        case UInt8(ascii: "~"): numbered(parameters.first ?? 0)
        default: nil
        }
    }

    private static func numbered(_ number: Int) -> Key? {
        switch number {
        case 1, 7: .home
        case 4, 8: .end
        case 5: .pageUp
        case 6: .pageDown
        default: nil
        }
    }

    /// The valid columns and rows, counted from 1.
    private static let positions = 1...65_535

    /// Reads a mouse report (mode 1006): button, column and row; the final byte `M` means pressed.
    private static func mouse(_ final: UInt8, _ parameters: [Int]) -> Key? {
        guard parameters.count == 3, final == UInt8(ascii: "M"), positions ~= parameters[1],
            positions ~= parameters[2]
        else { return nil }
        switch parameters[0] {
        case 0: return .click(row: parameters[2] - 1, column: parameters[1] - 1)
        case 64: return .wheelUp
        case 65: return .wheelDown
        default: return nil
        }
    }
}
