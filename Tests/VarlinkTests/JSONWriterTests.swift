// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Varlink

@Suite("Writing JSON")
struct JSONWriterTests {
    private func written(_ body: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        body(&writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test("objects and arrays get their commas at any depth of nesting")
    func writesStructure() {
        let text = written { writer in
            writer.object { writer in
                writer.member("a", 1)
                writer.member("b") { writer in
                    writer.member("c", [1, 2, 3])
                    writer.member("d") { _ in }
                }
                writer.member("e", [] as [Int])
                writer.member("f", ["x": true, "a": false])
                writer.member("g", raw: Array("[null]".utf8))
                writer.member("h", "i")
            }
        }
        #expect(
            text
                == #"{"a":1,"b":{"c":[1,2,3],"d":{}},"e":[],"f":{"a":false,"x":true},"g":[null],"h":"i"}"#)
    }

    @Test("a member without a value is left out")
    func leavesOutNil() {
        let text = written { writer in
            writer.object { writer in
                writer.member("a", nil as String?)
                writer.member("d", "x" as String?)
                writer.member("e", [1, nil])
            }
        }
        #expect(text == #"{"d":"x","e":[1,null]}"#)
    }

    @Test("strings are escaped only where necessary")
    func escapes() {
        #expect(
            written { $0.value("a\"b\\c\nd\re\tf\u{1}g\u{1f}h\u{7f}/ä€😀") }
                == "\"a\\\"b\\\\c\\nd\\re\\tf\\u0001g\\u001fh\u{7f}/ä€😀\"")
        #expect(written { $0.value("\u{0}") } == "\"\\u0000\"")
        #expect(written { $0.value("") } == "\"\"")
    }

    @Test("numbers are written so that they read back as the same value")
    func writesNumbers() {
        #expect(written { $0.value([0, -1, Int.max, Int.min]) } == "[0,-1,9223372036854775807,-9223372036854775808]")
        #expect(written { $0.value([0.1, -2, 1e300, .infinity, .nan]) } == "[0.1,-2.0,1e+300,null,null]")
    }

    @Test("ten thousand random values read back as they were", arguments: [1, 20_261_121])
    func roundTrips(seed: UInt64) throws {
        var random = SeededRandom(state: seed)
        for _ in 0..<5_000 {
            let value = JSONValue.random(&random, depth: 4)
            var writer = JSONWriter()
            writer.value(value)
            let read = try JSONReader.read(writer.bytes) { reader throws(JSONError) in try JSONValue(from: &reader) }
            #expect(read == value)
        }
    }
}

/// Any value, for round trips.
private enum JSONValue: Equatable, JSONReadable, JSONWritable {
    case null
    case boolean(Bool)
    case integer(Int)
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    static func random(_ random: inout SeededRandom, depth: Int) -> JSONValue {
        switch Int.random(in: 0...(depth > 0 ? 6 : 4), using: &random) {
        case 0: .null
        case 1: .boolean(Bool.random(using: &random))
        case 2: .integer(Int(truncatingIfNeeded: random.next() >> UInt64.random(in: 0..<64, using: &random)))
        case 3: .double(Double.random(in: -1e12...1e12, using: &random) + 0.5)
        case 4: .string(text(&random))
        case 5: .array((0..<Int.random(in: 0...4, using: &random)).map { _ in self.random(&random, depth: depth - 1) })
        default:
            .object(
                Dictionary(
                    (0..<Int.random(in: 0...20, using: &random)).map { _ in
                        (text(&random), self.random(&random, depth: depth - 2))
                    }, uniquingKeysWith: { first, _ in first }))
        }
    }

    private static func text(_ random: inout SeededRandom) -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...24, using: &random) {
            let upper: UInt32 = [0x20, 0x7F, 0x7F, 0x7F, 0x7FF, 0xFFFF, 0x10FFFF].randomElement(using: &random) ?? 0x7F
            if let scalar = Unicode.Scalar(UInt32.random(in: 0...upper, using: &random)) { text.append(scalar) }
        }
        return String(text)
    }

    init(from reader: inout JSONReader) throws(JSONError) {
        let raw = try reader.raw()
        func read<Value: JSONReadable>(_ type: Value.Type) throws(JSONError) -> Value {
            try JSONReader.read(raw) { reader throws(JSONError) in try reader.value() }
        }
        switch raw[0] {
        case UInt8(ascii: "n"): self = .null
        case UInt8(ascii: "t"), UInt8(ascii: "f"): self = .boolean(try read(Bool.self))
        case UInt8(ascii: "\""): self = .string(try read(String.self))
        case UInt8(ascii: "["): self = .array(try read([JSONValue].self))
        case UInt8(ascii: "{"): self = .object(try read([String: JSONValue].self))
        case _ where raw.contains(UInt8(ascii: ".")): self = .double(try read(Double.self))
        default: self = .integer(try read(Int.self))
        }
    }

    func write(to writer: inout JSONWriter) {
        switch self {
        case .null: writer.value(nil as Int?)
        case .boolean(let value): writer.value(value)
        case .integer(let value): writer.value(value)
        case .double(let value): writer.value(value)
        case .string(let value): writer.value(value)
        case .array(let value): writer.value(value)
        case .object(let value): writer.value(value)
        }
    }
}
