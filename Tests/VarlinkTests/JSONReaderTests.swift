// SPDX-License-Identifier: Apache-2.0

import Testing
import Varlink

@Suite("Reading JSON")
struct JSONReaderTests {
    /// Texts that RFC 8259 allows.
    static let good = [
        "{}", "[]", " { } ", "\t[\n]\r", "null", "true", "false", "0", "-0", "-12", "3.5", "1e2", "1E+2", "1e-2",
        "0.0e0",
        "\"\"", "\"a\"", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\u00e4\"", "\"\\ud83d\\ude00\"", "\"ä€😀\"", "\"\u{7f}\"",
        "[1,2]", "[ 1 , 2 ]", "{\"a\":1}", "{ \"a\" : 1 , \"b\" : [ { } ] }", "{\"\":null}", "[[[[]]]]",
        "123456789012345678901234567890", "\"a string that is longer than sixteen bytes\"",
        "\"a string that is longer than sixteen bytes, with an ä and a \\n\"",
    ]

    /// Texts that RFC 8259 does not allow.
    static let bad = [
        "", " ", "nul", "nulll", "True", "{", "}", "[", "]", "{]", "[}", "{\"a\"}", "{\"a\":}", "{\"a\" 1}", "{a:1}",
        "{'a':1}",
        "{\"a\":1,}", "{,}", "[1,]", "[,1]", "[1 2]", "[1],", "{} {}", "1 2", "01", "-", "-01", "+1", ".5", "1.",
        "1.e2", "1e",
        "1e+", "0x1", "NaN", "Infinity", "\"", "\"a", "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\u+123\"",
        "\"\\ud83d\"", "\"\\ude00\"", "\"\\ud83d\\u0041\"", "\"\\ud83dx\"", "\"tab\there\"", "\"line\nfeed\"",
        "\"nul\0\"",
        "/* */ 1", "1 // one", "\u{FEFF}{}",
        "[\u{A0}1]", "\0", "{}\0",
    ]

    private func isAccepted(_ text: [UInt8]) -> Bool {
        do {
            try JSONReader.read(text) { reader throws(JSONError) in try reader.skip() }
            return true
        } catch {
            return false
        }
    }

    @Test("texts that the standard allows are accepted", arguments: good)
    func accepts(text: String) {
        #expect(isAccepted(Array(text.utf8)))
    }

    @Test("texts that the standard does not allow are refused", arguments: bad)
    func refuses(text: String) {
        #expect(!isAccepted(Array(text.utf8)))
    }

    @Test(
        "bytes that are not UTF-8 are refused, in values, in names and in skipped parts",
        arguments: [
            [0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82], [0x80],
        ] as [[UInt8]])
    func refusesOtherEncodings(bytes: [UInt8]) throws {
        let string = [UInt8(ascii: "\"")] + bytes + [UInt8(ascii: "\"")]
        #expect(!isAccepted(string))
        #expect(!isAccepted(Array("{".utf8) + string + Array(":1}".utf8)))
        #expect(throws: JSONError(.encoding, offset: string.count)) {
            try JSONReader.read(string) { reader throws(JSONError) in try reader.string() }
        }
    }

    @Test("every proper prefix of a text is refused, and none crashes the reader")
    func refusesBeginnings() {
        let text = Array(#"{"a":[1,-2.5e3,"\ud83d\ude00 ä",true,false,null],"b":{"c":"\n"}}"#.utf8)
        #expect(isAccepted(text))
        for count in 0..<text.count { #expect(!isAccepted(Array(text[..<count]))) }
    }

    @Test("strings are decoded")
    func decodesStrings() throws {
        let table = [
            (#""""#, ""), (#""plain""#, "plain"), (#""a\nb""#, "a\nb"), (#""\u0041\u00e4\u20ac\ud83d\ude00""#, "Aä€😀"),
            (#""\/\\\"""#, "/\\\""), (#""ä\tö""#, "ä\tö"), (#""\u0000""#, "\0"),
            (#""exactly sixteen.""#, "exactly sixteen."),
        ]
        for (text, value) in table {
            let read = try JSONReader.read(Array(text.utf8)) { reader throws(JSONError) in try reader.string() }
            #expect(read == value)
        }
    }

    @Test(
        "after 30 combining characters in a row, a string has a joiner, so that comparing strings is never slow",
        arguments: [0, 30, 31, 60, 61, 30_000])
    func separatesCombiningCharacters(count: Int) throws {
        let marks = String(repeating: "\u{301}", count: 30)
        let rest = String(repeating: "\u{301}", count: count % 30)
        for first in ["ä", "\\u00e4"] {
            let text = "\"\(first)\(String(repeating: "\u{301}", count: count))\""
            let read = try JSONReader.read(Array(text.utf8)) { reader throws(JSONError) in try reader.string() }
            let parts = Array(repeating: marks, count: count / 30) + (rest.isEmpty ? [] : [rest])
            #expect(Array(read.utf8) == Array(("ä" + parts.joined(separator: "\u{34F}")).utf8))
        }
    }

    @Test("every combining character is separated, and others are not")
    func separatesNoOthers() throws {
        var wrong: [Unicode.Scalar] = []
        for scalar in stride(from: UInt32(0x300), to: 0x2_0000, by: 7).compactMap(Unicode.Scalar.init) {
            let isCombining = scalar.properties.canonicalCombiningClass != .notReordered
            guard isCombining || scalar.value % 100 == 0 else { continue }
            let text = String(String.UnicodeScalarView(repeating: scalar, count: 31))
            let read = try JSONReader.read(Array("\"\(text)\"".utf8)) { reader throws(JSONError) in try reader.string()
            }
            if (read.utf8.count > text.utf8.count) != isCombining { wrong.append(scalar) }
        }
        #expect(wrong == [])
    }

    @Test(
        "a vowel sign that stands for two combining characters counts as two",
        arguments: ["\u{F73}", "\u{F75}", "\u{F81}"])
    func separatesVowelSigns(sign: String) throws {
        let text = "\"x\(String(repeating: sign, count: 31))\""
        let read = try JSONReader.read(Array(text.utf8)) { reader throws(JSONError) in try reader.string() }
        let fifteen = String(repeating: sign, count: 15)
        #expect(Array(read.utf8) == Array("x\(fifteen)\u{34F}\(fifteen)\u{34F}\(sign)".utf8))
    }

    @Test(
        "an error has its offset, even if the text ends too early",
        arguments: [#"["\"#, #"["\u"#, #"["\ud800\"#])
    func offsetsOfErrors(text: String) throws {
        let error = #expect(throws: JSONError.self) {
            try JSONReader.read(Array(text.utf8)) { reader throws(JSONError) in try reader.skip() }
        }
        #expect(error?.offset == text.utf8.count)
    }

    @Test("a case is read by its exact name only, not by an equivalent text")
    func readsEnumerations() {
        enum Unit: String, JSONEnumeration { case kelvin = "K" }
        for (text, isRead) in [
            ("\"K\"", true), ("\"\\u004b\"", true), ("\"\u{212A}\"", false), ("\"K\u{301}\"", false),
        ] {
            let read = try? JSONReader.read(Array(text.utf8)) { reader throws(JSONError) in try Unit(from: &reader) }
            #expect((read != nil) == isRead)
        }
    }

    @Test("whole numbers are exact in all 64 bits, and no other value is read as one")
    func readsIntegersExactly() throws {
        func integer(_ text: String) throws -> Int {
            try JSONReader.read(Array(text.utf8)) { reader throws(JSONError) in try reader.integer() }
        }
        for value in [0, 1, -1, 9_007_199_254_740_993, Int.max, Int.min, Int.max - 1, Int.min + 1] {
            #expect(try integer(String(value)) == value)
        }
        #expect(try integer("-0") == 0)
        for text in ["9223372036854775808", "-9223372036854775809", "99999999999999999999", "18446744073709551616"] {
            #expect { try integer(text) } throws: { ($0 as? JSONError)?.reason == .number }
        }
        for text in ["1.0", "1e2", "-0.0", "\"1\"", "true", "null", "[]"] {
            #expect { try integer(text) } throws: { ($0 as? JSONError)?.reason == .type(expected: "integer") }
        }
        for text in ["01", "-", "--1", "1a", "+1", ""] {
            #expect { try integer(text) } throws: { ($0 as? JSONError)?.reason == .syntax }
        }
    }

    @Test("numbers are read as the nearest double, and a number that is too large is refused")
    func readsNumbers() throws {
        func number(_ text: String) throws -> Double {
            try JSONReader.read(Array(text.utf8)) { reader throws(JSONError) in try reader.number() }
        }
        #expect(try number("0.1") == 0.1)
        #expect(try number("-1.5e-3") == -0.0015)
        #expect(try number("12") == 12)
        #expect { try number("1e999") } throws: { ($0 as? JSONError)?.reason == .number }
    }

    @Test("nesting is limited, and a text far beyond the limit is refused without a crash")
    func boundsDepth() {
        func nested(_ depth: Int, _ open: String, _ close: String) -> [UInt8] {
            Array((String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)).utf8)
        }
        #expect(isAccepted(nested(32, "[", "]")))
        #expect(!isAccepted(nested(33, "[", "]")))
        #expect(isAccepted(nested(32, "{\"a\":", "}")))
        #expect(!isAccepted(nested(33, "{\"a\":", "}")))
        #expect(!isAccepted(nested(1_000_000, "[", "]")))
        #expect(isAccepted(Array("[[],[],[],[[]]]".utf8)))
    }

    @Test("an error names the member, by its path if it is nested")
    func namesMembers() {
        func reason(_ text: String) -> JSONError.Reason? {
            do {
                _ = try JSONReader.read(Array(text.utf8)) { reader throws(JSONError) in try Outer(from: &reader) }
                return nil
            } catch {
                return error.reason
            }
        }
        #expect(reason(#"{"since":{"epoch":"x"}}"#) == nil)
        #expect(reason(#"{"since":{"epoch":1}}"#) == .invalidMember("since.epoch"))
        #expect(reason(#"{"since":{"other":1}}"#) == .unknownMember("since.other"))
        #expect(reason(#"{"since":{}}"#) == .missingMember("since.epoch"))
        #expect(reason(#"{"since":[]}"#) == .invalidMember("since"))
        #expect(reason(#"{}"#) == .missingMember("since"))
        #expect(reason(#"{"since":{"epoch":"x"},"until":null}"#) == .unknownMember("until"))
        #expect(reason(#"[]"#) == .type(expected: "object"))
    }

    @Test("the bytes of a value are returned unchanged, without the white space around them")
    func handsOutBytes() throws {
        let text = Array(#"{ "a" : { "b" : [ 1 ] } , "c" : 2 }"#.utf8)
        var raw: [String: [UInt8]] = [:]
        try JSONReader.read(text) { reader throws(JSONError) in
            try reader.object { name, reader throws(JSONError) in raw[name.text] = try reader.raw() }
        }
        #expect(raw == ["a": Array(#"{ "b" : [ 1 ] }"#.utf8), "c": [UInt8(ascii: "2")]])
    }

    @Test("members and elements that are not read are skipped, but still checked")
    func skipsWhatIsNotRead() throws {
        var names: [String] = []
        try JSONReader.read(Array(#"{"a":{"x":[1,2]},"b":"c"}"#.utf8)) { reader throws(JSONError) in
            try reader.object { name, _ throws(JSONError) in names.append(name.text) }
        }
        #expect(names == ["a", "b"])
        #expect(throws: JSONError.self) {
            try JSONReader.read(Array(#"{"a":{"x":[1,]}}"#.utf8)) { reader throws(JSONError) in
                try reader.object { _, _ throws(JSONError) in }
            }
        }
    }
}

private struct Outer: JSONReadable {
    struct Inner: JSONReadable {
        var epoch: String

        init(from reader: inout JSONReader) throws(JSONError) {
            var epoch: String?
            try reader.object { name, reader throws(JSONError) in
                guard name == "epoch" else { throw .unknownMember(name) }
                epoch = try reader.string()
            }
            guard let epoch else { throw .missingMember("epoch") }
            self.epoch = epoch
        }
    }

    var since: Inner

    init(from reader: inout JSONReader) throws(JSONError) {
        var since: Inner?
        try reader.object { name, reader throws(JSONError) in
            guard name == "since" else { throw .unknownMember(name) }
            since = try reader.value()
        }
        guard let since else { throw .missingMember("since") }
        self.since = since
    }
}
