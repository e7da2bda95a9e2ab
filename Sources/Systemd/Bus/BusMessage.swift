// SPDX-License-Identifier: Apache-2.0

import CSystemd

/// A message that came over the bus, read from front to back; valid while its handler runs.
struct BusMessage {
    /// Why a call was not answered.
    struct Failure {
        /// What kind of failure it is, such as `org.freedesktop.DBus.Error.AccessDenied`.
        let name: String
        /// One phrase, without a dot at its end.
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

    /// How a truth value that is true stands among strings.
    static let truth = "yes"

    private let message: OpaquePointer

    init(_ message: OpaquePointer) { self.message = message }

    /// The unique name of who sent it; the bus sees to it that nobody takes another's.
    var sender: String? { sd_bus_message_get_sender(message).map { String(cString: $0) } }

    /// The object that a signal is of.
    var path: String? { sd_bus_message_get_path(message).map { String(cString: $0) } }

    /// The signal's name.
    var member: String? { sd_bus_message_get_member(message).map { String(cString: $0) } }

    /// Why the call was not answered; nil where it was.
    var failure: Failure? {
        guard let error = sd_bus_message_get_error(message)?.pointee, let name = error.name else { return nil }
        var text = String(cString: error.message ?? name)
        while text.last == "." { text.removeLast() }
        return Failure(name: String(cString: name), message: text)
    }

    /// Reads the next string; nil where there is none.
    func string() -> String? {
        var text: UnsafePointer<CChar>?
        guard sd_bus_message_read_basic(message, Code.string, &text) > 0 else { return nil }
        return text.map { String(cString: $0) }
    }

    /// Reads the next truth value; nil where there is none.
    func boolean() -> Bool? {
        var value: Int32 = 0
        guard sd_bus_message_read_basic(message, Code.boolean, &value) > 0 else { return nil }
        return value != 0
    }

    /// Reads the next array of strings, of type `as`.
    func strings() -> [String] {
        guard sd_bus_message_enter_container(message, Code.array, "s") > 0 else { return [] }
        defer { sd_bus_message_exit_container(message) }
        var strings: [String] = []
        while let string = string() { strings.append(string) }
        return strings
    }

    /// Reads the next dictionary, of type `a{sv}`, and returns the strings, numbers and truth values of it that `names` lists, as text.
    func strings(named names: Set<String>) -> [String: String] {
        guard sd_bus_message_enter_container(message, Code.array, "{sv}") > 0 else { return [:] }
        defer { sd_bus_message_exit_container(message) }
        var strings: [String: String] = [:]
        while sd_bus_message_enter_container(message, Code.entry, "sv") > 0 {
            if let name = string() {
                let value = variantString(isWanted: names.contains(name))
                if let value { strings[name] = value }
            }
            sd_bus_message_exit_container(message)
        }
        return strings
    }

    /// Reads the next variant as text; nil where it is of another type, or is not wanted.
    private func variantString(isWanted: Bool) -> String? {
        if isWanted {
            if let text = variant("s", read: string) { return text }
            if let truth = variant("b", read: boolean) { return truth ? Self.truth : "no" }
            if let number = variant("u", read: { number(Code.number, UInt32.self) }) { return String(number) }
            if let number = variant("t", read: { number(Code.longNumber, UInt64.self) }) { return String(number) }
        }
        sd_bus_message_skip(message, "v")
        return nil
    }

    /// Reads the next variant if it is of this type.
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
