// SPDX-License-Identifier: Apache-2.0

@testable import Varlink

/// Any JSON value, read with all functions of the reader.
indirect enum JSONValue: JSONReadable, JSONWritable {
    case null
    case boolean(Bool)
    case integer(Int)
    case number(Double)
    /// A number that is too large for a double.
    case large([UInt8])
    case string(String)
    case array([JSONValue])
    case object([(name: String, value: JSONValue)])

    init(from reader: inout JSONReader) throws(JSONError) {
        switch reader.current {
        case UInt8(ascii: "n"):
            guard try reader.isNull() else { throw reader.error(.syntax) }
            self = .null
        case UInt8(ascii: "t"), UInt8(ascii: "f"): self = .boolean(try reader.boolean())
        case UInt8(ascii: "\""):
            let text = try reader.string()
            TextProperties.expectCheapToCompare(text)
            self = .string(text)
        case UInt8(ascii: "["): self = .array(try [JSONValue](from: &reader))
        case UInt8(ascii: "{"):
            var members: [(name: String, value: JSONValue)] = []
            try reader.object { name, reader throws(JSONError) in
                TextProperties.expectCheapToCompare(name.text)
                members.append((name.text, try JSONValue(from: &reader)))
            }
            self = .object(members)
        default: self = Self.number(try reader.raw())
        }
    }

    private static func number(_ text: [UInt8]) -> JSONValue {
        if let value = try? JSONReader.read(text, { reader throws(JSONError) in try reader.integer() }) {
            return .integer(value)
        }
        if let value = try? JSONReader.read(text, { reader throws(JSONError) in try reader.number() }) {
            return .number(value)
        }
        return .large(text)
    }

    func write(to writer: inout JSONWriter) {
        switch self {
        case .null: writer.value(Bool?.none)
        case .boolean(let value): writer.value(value)
        case .integer(let value): writer.value(value)
        case .number(let value): writer.value(value)
        case .large(let text): writer.raw(text)
        case .string(let text): writer.value(text)
        case .array(let values): writer.value(values)
        case .object(let members):
            writer.object { writer in
                for (name, value) in members { writer.member(named: name, value) }
            }
        }
    }
}
