// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import Testing

@testable import StatusWorkers

@Suite("Values in the JSON of a response") struct JSONFindingTests {
    private func find(_ path: String, in text: String) throws -> JSONFinding {
        JSONFinding(try #require(JSONPath(path)), in: Array(text.utf8))
    }

    @Test("a value is found by names and positions; of several members with one name, the last one counts")
    func finds() throws {
        let text = #" { "a" : [ { "b" : "\u00fc" } , 2 ] , "n" : 1 , "n" : 3.0 , "z" : null } "#
        #expect(try find(".a[0].b", in: text) == .scalar(.text("ü"), shown: "“ü”"))
        #expect(try find(".a[1]", in: text) == .scalar(.number(2), shown: "2"))
        #expect(try find(".n", in: text) == .scalar(.number(3), shown: "3.0"))
        #expect(try find(".z", in: text) == .scalar(.null, shown: "null"))
        #expect(try find(".a", in: text) == .structure("an array"))
        for path in [".b", ".a[2]", ".a.b", ".n.a", ".[0]"] { #expect(try find(path, in: text) == .missing) }
    }

    @Test(
        "what is not JSON to its end is never a value",
        arguments: ["", "{", "{} x", #"{"a": 1"#, #"{"a": 01}"#, "\u{FEFF}{}"])
    func notJSON(_ text: String) throws {
        #expect(try find(".a", in: text) == .notJSON)
        #expect(JSONFinding(try #require(JSONPath(".")), in: [0xFF]) == .notJSON)
    }

    @Test("deep nesting is an error, also where the path does not lead")
    func depth() throws {
        let deep = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)
        #expect(try find(".a", in: #"{"a": 1, "b": \#(deep)}"#) == .tooDeep)
        #expect(try find(".", in: String(repeating: "[", count: 1_000_000)) == .tooDeep)
    }

    @Test("a number that is too large, and text that moves the cursor, are shown safely and in part")
    func hostile() throws {
        #expect(try find(".a", in: #"{"a": 1e999}"#) == .tooLarge(shown: "1e999"))
        let text = #"{"a": "\u001b[31m\#(String(repeating: "x", count: 100_000))"}"#
        let reason = try find(".a", in: text).problem(expecting: JSONExpectation(path: try #require(JSONPath(".a"))))
        #expect(reason == nil)
        let wrong = try find(".a", in: text).problem(
            expecting: JSONExpectation(path: try #require(JSONPath(".a")), equals: .text("b")))
        #expect(wrong?.utf8.contains(0x1B) == false)
        #expect(wrong?.utf8.count ?? 0 < 200)
    }

    @Test("texts that look the same but have other bytes are different")
    func bytes() throws {
        let path = try #require(JSONPath("."))
        let found = try find(".", in: "\"e\u{301}\"")
        #expect(found.problem(expecting: JSONExpectation(path: path, equals: .text("\u{E9}"))) != nil)
        #expect(found.problem(expecting: JSONExpectation(path: path, equals: .text("e\u{301}"))) == nil)
    }
}
