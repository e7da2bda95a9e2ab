// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StatusSupport

@Suite("Regular expressions") struct RegularExpressionTests {
    @Test(
        "a part of a text must match, in Perl's syntax",
        arguments: [
            ("b+", "abbc", true), ("^b", "ab", false), ("(?i)READY", "ready", true), ("^.$", "ü", true),
            (#"\d{2}\b"#, "a 12", true),
            ("(?m)^b$", "a\nb\nc", true), ("a.b", "a\nb", false), ("", "", true),
        ] as [(String, String, Bool)])
    func matches(_ pattern: String, _ text: String, _ matches: Bool) throws {
        #expect(try RegularExpression(pattern).matches(Array(text.utf8)) == matches)
    }

    @Test("a text may be no UTF-8")
    func bytes() throws {
        #expect(try RegularExpression("ready").matches([0xFF, 0xC3] + Array("ready".utf8) + [0x80]))
        #expect(try !RegularExpression("ready").matches([0xFF]))
    }

    @Test("an invalid expression is refused with the position in characters")
    func invalid() {
        #expect(throws: RegularExpression.Failure.invalid("missing closing parenthesis (at character 4)")) {
            try RegularExpression("ü(a")
        }
        #expect(throws: RegularExpression.Failure.self) { try RegularExpression(#"\C"#) }
    }

    @Test("a match that takes too long ends with that reason")
    func slow() throws {
        let expression = try RegularExpression("a.*a.*a.*[bc]")
        #expect(throws: RegularExpression.Failure.tooExpensive("takes more than 0 s of processor time")) {
            try expression.matches(text, within: .zero)
        }
    }

    @Test("a match that needs too much memory ends with that reason")
    func large() throws {
        let expression = try RegularExpression("((a)|b)*[cd]")
        #expect(throws: RegularExpression.Failure.tooExpensive("needs too much memory")) {
            try expression.matches(text, within: .seconds(3600))
        }
    }

    /// A megabyte of the letter a.
    private let text = [UInt8](repeating: UInt8(ascii: "a"), count: 1 << 20)
}
