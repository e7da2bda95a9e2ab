// SPDX-License-Identifier: Apache-2.0

import CSystemd
import StreamSafeText

/// Reads one of sd-bus's messages from beginning to end.
struct BusReader {
    /// The type codes of sd_bus_message_read_basic(3).
    private enum Code {
        static let array = CChar(bitPattern: UInt8(ascii: "a"))
        static let boolean = CChar(bitPattern: UInt8(ascii: "b"))
        static let entry = CChar(bitPattern: UInt8(ascii: "e"))
        static let number = CChar(bitPattern: UInt8(ascii: "u"))
        static let longNumber = CChar(bitPattern: UInt8(ascii: "t"))
        static let string = CChar(bitPattern: UInt8(ascii: "s"))
        static let structure = CChar(bitPattern: UInt8(ascii: "r"))
        static let variant = CChar(bitPattern: UInt8(ascii: "v"))
    }

    private let message: OpaquePointer

    init(_ message: OpaquePointer) { self.message = message }

    /// The type of the next value, such as `as`; nil at the end.
    var nextType: String? {
        var (code, contents): (CChar, UnsafePointer<CChar>?) = (0, nil)
        guard sd_bus_message_peek_type(message, &code, &contents) > 0 else { return nil }
        let type = String(UnicodeScalar(UInt8(bitPattern: code)))
        return type + (contents.map { String(cString: $0) } ?? "")
    }

    /// Skips the next value, which is of this type; returns whether it could.
    func skip(_ type: String) -> Bool { sd_bus_message_skip(message, type) > 0 }

    /// Reads the next string or object path; nil if there is none.
    ///
    /// A string such as a unit's status comes from another process, and is compared with the last one.
    func string() -> String? {
        var text: UnsafePointer<CChar>?
        guard sd_bus_message_read_basic(message, Code.string, &text) > 0 || readPath(&text) else { return nil }
        return text.map { StreamSafeText.text(String(cString: $0)) }
    }

    private func readPath(_ text: inout UnsafePointer<CChar>?) -> Bool {
        sd_bus_message_read_basic(message, CChar(bitPattern: UInt8(ascii: "o")), &text) > 0
    }

    /// Reads the next boolean; nil if there is none.
    func boolean() -> Bool? {
        var value: Int32 = 0
        guard sd_bus_message_read_basic(message, Code.boolean, &value) > 0 else { return nil }
        return value != 0
    }

    /// Reads the next array of strings.
    func strings() -> [String] {
        guard sd_bus_message_enter_container(message, Code.array, "s") > 0 else { return [] }
        defer { sd_bus_message_exit_container(message) }
        var strings: [String] = []
        while let string = string() { strings.append(string) }
        return strings
    }

    /// Reads the next dictionary; returns the requested strings, numbers and booleans as text.
    func properties(_ wanted: Set<String>) -> [String: String] {
        guard sd_bus_message_enter_container(message, Code.array, "{sv}") > 0 else { return [:] }
        defer { sd_bus_message_exit_container(message) }
        var properties: [String: String] = [:]
        while sd_bus_message_enter_container(message, Code.entry, "sv") > 0 {
            if let name = string() {
                let value = variantString(isRequested: wanted.contains(name))
                if let value { properties[name] = value }
            }
            sd_bus_message_exit_container(message)
        }
        return properties
    }

    /// Reads the next array of structures; returns the first `count` strings of those whose first string is requested.
    func structures(_ type: String, strings count: Int, isRequested: (String) -> Bool) -> [[String]] {
        guard sd_bus_message_enter_container(message, Code.array, "(\(type))") > 0 else { return [] }
        defer { sd_bus_message_exit_container(message) }
        var structures: [[String]] = []
        while sd_bus_message_enter_container(message, Code.structure, type) > 0 {
            if let first = string(), isRequested(first) {
                structures.append([first] + (1..<count).compactMap { _ in string() })
            }
            // The rest of a structure can only be skipped value by value.
            while let type = nextType, skip(type) {}
            sd_bus_message_exit_container(message)
        }
        return structures
    }

    /// Reads the next variant as text; nil if it has another type or is not requested.
    private func variantString(isRequested: Bool) -> String? {
        if isRequested {
            if let text = variant("s", read: string) { return text }
            if let truth = variant("b", read: boolean) { return truth ? BusMessage.truth : "no" }
            if let number = variant("u", read: { number(Code.number, UInt32.self) }) { return String(number) }
            if let number = variant("t", read: { number(Code.longNumber, UInt64.self) }) { return String(number) }
        }
        sd_bus_message_skip(message, "v")
        return nil
    }

    /// Reads the next variant if it has this type.
    private func variant<Value>(_ type: String, read: () -> Value?) -> Value? {
        guard sd_bus_message_enter_container(message, Code.variant, type) > 0 else { return nil }
        defer { sd_bus_message_exit_container(message) }
        return read()
    }

    private func number<Number: FixedWidthInteger & BitwiseCopyable>(_ code: CChar, _ type: Number.Type) -> Number? {
        var number = Number.zero
        return withUnsafeMutableBytes(of: &number) { bytes in
            sd_bus_message_read_basic(message, code, bytes.baseAddress)
        } > 0 ? number : nil
    }
}
