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
        static let integer = CChar(bitPattern: UInt8(ascii: "i"))
        static let structure = CChar(bitPattern: UInt8(ascii: "r"))
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

    /// Reads the next list of units, as `ListUnits` returns it: each one's name and two of its states.
    func listedUnits() -> [(name: String, loadState: String, activeState: String)] {
        array("(ssssssouso)") {
            structure("ssssssouso") {
                let texts = (0..<4).compactMap { _ in string() }
                skip("ssouso")
                // The second one is the description.
                return texts.count == 4 ? (texts[0], texts[2], texts[3]) : nil
            }
        }
    }

    /// Reads the next variant as text; nil if it has another type.
    private func variant() -> String? {
        if let text = variant("s", read: string) { return text }
        if let truth = variant("b", read: boolean) { return truth ? Self.truth : "no" }
        if let number = variant("u", read: { number(Code.number, UInt32.self) }) { return String(number) }
        if let number = variant("t", read: { number(Code.longNumber, UInt64.self) }) { return String(number) }
        if let number = variant("i", read: { number(Code.integer, Int32.self) }) { return String(number) }
        if let texts = variant("as", read: { array("s", read: string) }) { return texts.joined(separator: " ") }
        if let conditions = variant("a(sbbsi)", read: { array("(sbbsi)", read: condition) }) {
            return Self.failed(of: conditions) ?? ""
        }
        if let commands = variant("a(sasbttttuii)", read: { array("(sasbttttuii)", read: command) }) {
            return commands.last { !$0.isEmpty } ?? ""
        }
        skip("v")
        return nil
    }

    /// Reads the next variant if it has this type.
    private func variant<Value>(_ type: String, read: () -> Value?) -> Value? {
        guard sd_bus_message_enter_container(message, Code.variant, type) > 0 else { return nil }
        defer { sd_bus_message_exit_container(message) }
        return read()
    }

    private func array<Element>(_ type: String, read: () -> Element?) -> [Element] {
        guard sd_bus_message_enter_container(message, Code.array, type) > 0 else { return [] }
        defer { sd_bus_message_exit_container(message) }
        var elements: [Element] = []
        while let element = read() { elements.append(element) }
        return elements
    }

    private func structure<Value>(_ type: String, read: () -> Value?) -> Value? {
        guard sd_bus_message_enter_container(message, Code.structure, type) > 0 else { return nil }
        defer { sd_bus_message_exit_container(message) }
        return read()
    }

    /// A condition or assertion of a unit, as in its file.
    private struct Condition {
        var text: String
        /// Whether one of several such conditions suffices (`ConditionPathExists=|/x`).
        var isAlternative: Bool
        var hasFailed: Bool
    }

    private func condition() -> Condition? {
        structure("sbbsi") {
            guard let name = string(), let isAlternative = boolean(), let isNegated = boolean(),
                let parameter = string(), let result = number(Code.integer, Int32.self)
            else { return nil }
            let text = "\(name)=\(isAlternative ? "|" : "")\(isNegated ? "!" : "")\(parameter)"
            return Condition(text: text, isAlternative: isAlternative, hasFailed: result < 0)
        }
    }

    /// The condition that decided; nil if none failed.
    private static func failed(of conditions: [Condition]) -> String? {
        (conditions.first { $0.hasFailed && !$0.isAlternative } ?? conditions.first(where: \.hasFailed))?.text
    }

    /// Reads how a command of a unit ended (``UnitProperties/TimedExit``); empty if it has not failed or may fail.
    private func command() -> String? {
        structure("sasbttttuii") {
            skip("sas")
            guard let mayFail = boolean() else { return nil }
            skip("ttt")
            guard let time = number(Code.longNumber, UInt64.self) else { return nil }
            skip("u")
            guard let code = number(Code.integer, Int32.self), let status = number(Code.integer, Int32.self)
            else { return nil }
            return mayFail || status == 0 ? "" : "\(code) \(status) \(time)"
        }
    }

    private func number<Number: FixedWidthInteger & BitwiseCopyable>(_ code: CChar, _ type: Number.Type) -> Number? {
        var number = Number.zero
        return withUnsafeMutableBytes(of: &number) { bytes in
            sd_bus_message_read_basic(message, code, bytes.baseAddress)
        } > 0 ? number : nil
    }
}
