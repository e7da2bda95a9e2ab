// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc
import StatusSupport

/// A received message; its contents are read once, from beginning to end.
final class BusMessage {
    /// Why a call failed.
    struct Failure {
        /// The name of the error, such as `org.freedesktop.DBus.Error.AccessDenied`.
        let name: String
        /// One phrase without a full stop.
        let message: String
    }

    /// The type codes of sd_bus_message_read_basic(3).
    private enum Code {
        static let array = CChar(bitPattern: UInt8(ascii: "a"))
        static let boolean = CChar(bitPattern: UInt8(ascii: "b"))
        static let entry = CChar(bitPattern: UInt8(ascii: "e"))
        static let number = CChar(bitPattern: UInt8(ascii: "u"))
        static let longNumber = CChar(bitPattern: UInt8(ascii: "t"))
        static let string = CChar(bitPattern: UInt8(ascii: "s"))
        static let variant = CChar(bitPattern: UInt8(ascii: "v"))
    }

    /// How `true` is written among properties.
    static let truth = "yes"

    private let message: OpaquePointer

    init(owning message: OpaquePointer) { self.message = message }

    deinit { sd_bus_message_unref(message) }

    // MARK: The header

    /// The unique name of the sender, or the name of the bus itself; the bus guarantees it.
    var sender: String? { sd_bus_message_get_sender(message).map { String(cString: $0) } }
    /// The object that sent the signal.
    var path: String? { sd_bus_message_get_path(message).map { String(cString: $0) } }
    /// The name of the signal or method.
    var member: String? { sd_bus_message_get_member(message).map { String(cString: $0) } }

    /// The number of the call that this message answers; nil if it is not a reply.
    var replyNumber: UInt64? {
        var number: UInt64 = 0
        return sd_bus_message_get_reply_cookie(message, &number) >= 0 ? number : nil
    }

    /// Why the call failed; nil if it did not.
    var failure: Failure? {
        guard let error = sd_bus_message_get_error(message), let name = error.pointee.name else { return nil }
        var text = String(cString: error.pointee.message ?? name)
        while text.last == "." { text.removeLast() }
        return Failure(name: String(cString: name), message: text)
    }

    // MARK: The contents

    /// Skips values of these types.
    func skip(_ types: String) { sd_bus_message_skip(message, types) }

    /// Reads the next string; nil if there is none.
    ///
    /// A string such as a unit's status comes from another process, and is compared with the last one.
    func string() -> String? {
        var text: UnsafePointer<CChar>?
        guard sd_bus_message_read_basic(message, Code.string, &text) > 0 else { return nil }
        return text.map { StreamSafeText.text(String(cString: $0)) }
    }

    /// Reads the next boolean; nil if there is none.
    func boolean() -> Bool? {
        var value: Int32 = 0
        guard sd_bus_message_read_basic(message, Code.boolean, &value) > 0 else { return nil }
        return value != 0
    }

    /// Reads the next dictionary; returns the requested strings, numbers and booleans as text.
    func properties(_ requested: Set<String>) -> [String: String] {
        guard sd_bus_message_enter_container(message, Code.array, "{sv}") > 0 else { return [:] }
        defer { sd_bus_message_exit_container(message) }
        var properties: [String: String] = [:]
        while sd_bus_message_enter_container(message, Code.entry, "sv") > 0 {
            if let name = string(), requested.contains(name) { properties[name] = variant() } else { skip("v") }
            sd_bus_message_exit_container(message)
        }
        return properties
    }

    /// Reads the next variant as text; nil if it has another type.
    private func variant() -> String? {
        if let text = variant("s", read: string) { return text }
        if let truth = variant("b", read: boolean) { return truth ? Self.truth : "no" }
        if let number = variant("u", read: { number(Code.number, UInt32.self) }) { return String(number) }
        if let number = variant("t", read: { number(Code.longNumber, UInt64.self) }) { return String(number) }
        skip("v")
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
