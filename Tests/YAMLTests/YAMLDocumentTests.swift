// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import YAML

@Suite("Reading YAML") struct YAMLDocumentTests {
    private func error(in text: String) -> YAMLError? {
        do throws(YAMLError) {
            _ = try YAMLDocument.read(text)
            return nil
        } catch {
            return error
        }
    }

    // The text itself is not shown, because it may be a secret.
    private static let tag = "text that starts with ! must be quoted; tags are not supported"
    private static let wrongPlace =
        "wrong indentation, or text after a closing quote or bracket; a value that begins with { or [ needs quotes"
    private static let unexpectedColon =
        "unexpected “: ”; quote the text, or fix the indentation or a missing space after a colon in this line or the "
        + "line before"
    private static let unknownAlias =
        "text that starts with * must be quoted; an alias must be defined with & before it is used"

    @Test("values have their positions, and mappings keep their order")
    func places() throws {
        let root = try #require(try YAMLDocument.read("select: db\nservers:\n  web: { push: true }\n  db: [a, 'b']\n"))
        let members = try #require(root.mapping)
        #expect(members.map(\.key.string) == ["select", "servers"])
        let servers = try #require(members[1].value.mapping)
        #expect(servers.map(\.key.string) == ["web", "db"])
        #expect(servers[1].key.mark == YAMLNode.Mark(line: 4, column: 3))
        #expect(servers[1].value.sequence?.map(\.string) == ["a", "b"])
        #expect(servers[1].value.sequence?[1].mark == YAMLNode.Mark(line: 4, column: 11))
    }

    @Test("quotes turn null and true into texts", arguments: ["~", "null", "", "true", "no"])
    func plainAndQuoted(word: String) throws {
        let members = try #require(try YAMLDocument.read("plain: \(word)\nquoted: '\(word)'")?.mapping)
        #expect(members[0].value.isNull || members[0].value.bool != nil)
        #expect(!members[1].value.isNull && members[1].value.bool == nil)
        #expect(members[1].value.string == word)
    }

    @Test("an empty text has no document", arguments: ["", "\n", "# nothing\n", "---\n...\n"])
    func empty(text: String) throws {
        let node = try YAMLDocument.read(text)
        #expect(node == nil || node?.isNull == true)
    }

    @Test("block texts, escapes and non-ASCII characters are read as YAML defines")
    func texts() throws {
        let text = "a: |\n  one\n  two\nb: \"\\u00e9\\n\"\nc: Zürich 🚦\n"
        let members = try #require(try YAMLDocument.read(text)?.mapping)
        #expect(members.map(\.value.string) == ["one\ntwo\n", "é\n", "Zürich 🚦"])
    }

    @Test("a joiner separates combining characters after 30 in a row, so that comparing a text is fast")
    func combiningCharacters() throws {
        let marks = String(repeating: "\u{301}", count: 30)
        let members = try #require(try YAMLDocument.read("x\(marks)\u{301}: [y\(marks)\u{301}]\n")?.mapping)
        #expect(members.map(\.key.string) == ["x\(marks)\u{34F}\u{301}"])
        #expect(members[0].value.sequence?.map(\.string) == ["y\(marks)\u{34F}\u{301}"])
        // This would take minutes without joiners.
        let long = String(repeating: "\u{301}\u{316}", count: 50_000)
        let line = error(in: "? x\(long)\n: 1\n? x\(long)\n: 2\n")?.mark?.line
        #expect(line == 3)
    }

    @Test("an alias refers to an earlier value and has that value's position")
    func aliases() throws {
        let members = try #require(try YAMLDocument.read("a: &x [1, 2]\nb: *x\n")?.mapping)
        #expect(members[1].value.sequence?.map(\.string) == ["1", "2"])
        #expect(members[1].value.mark.line == 1)
    }

    @Test(
        "a byte order mark is skipped, also before lines that end with CR LF",
        arguments: ["a: 1\nb: 2\n", "a: 1\r\nb: 2\r\n"])
    func byteOrderMark(text: String) throws {
        let members = try #require(try YAMLDocument.read("\u{FEFF}" + text)?.mapping)
        #expect(members.map(\.key.string) == ["a", "b"])
        #expect(members.map(\.value.string) == ["1", "2"])
        #expect(try YAMLDocument.read("\u{FEFF}") == nil)
        #expect(try YAMLDocument.read("a: \"\u{A0}b\u{FEFF}\"\n")?.mapping?[0].value.string == "\u{A0}b\u{FEFF}")
    }

    @Test(
        "merged keys are those of the alias that the mapping does not have itself",
        arguments: [
            ("x: &x { b: 1, c: 2 }\na: { <<: *x, c: 3 }\n", "c=3 b=1"),
            ("x: &x { b: 1, c: 2 }\na: { c: 3, <<: *x }\n", "c=3 b=1"),
            ("x: [&x { b: 1 }, &y { b: 2, c: 3 }]\na: { <<: [*x, *y] }\n", "b=1 c=3"),
            ("x: &x { b: 1 }\ny: &y { <<: *x, c: 2 }\na: { <<: *y }\n", "c=2 b=1"),
            ("a: { \"<<\": 1 }\n", "<<=1"),
        ])
    func merges(text: String, members: String) throws {
        let last = try #require(try YAMLDocument.read(text)?.mapping?.last)
        let merged = (last.value.mapping ?? []).map { "\($0.key.string ?? "")=\($0.value.string ?? "")" }
        #expect(merged.joined(separator: " ") == members)
    }

    @Test(
        "an error gives the line and says what to do",
        arguments: [
            ("a: 1\na: 2\n", 2, "duplicate key “a”, already in line 1"),
            ("{ a:b, a:b }", 1, "duplicate key “a:…”, already in line 1"),
            ("a: *x\n", 1, Self.unknownAlias),
            ("a: &x [*x]\n", 1, Self.unknownAlias),
            ("a: 1\n---\nb: 2\n", 2, "a second document starts here; keep one"),
            ("a: !!python/object 1\n", 1, Self.tag),
            ("a: !mine [1]\n", 1, Self.tag),
            ("? [a, b]\n: 1\n", 1, "a key must be text"),
            ("a:\n\t- b\n", 2, "tab in the indentation; use spaces"),
            ("a: [1, 2\n", 1, "missing “,” or “]” after the “[”; a value with ], { or “: ” in it needs quotes"),
            ("a: @b\n", 1, "text that starts with “@” must be quoted"),
            ("b: 1\na: *.c\n", 2, "text that starts with * or & must be quoted"),
            ("a: \"\\[\"\n", 1, "unknown escape; use single quotes, in which a backslash is a backslash"),
            ("a:\n  b: 1\n  c:2\nd: 1\n", 3, "a key needs a colon and a space after it"),
            ("a: b: c\n", 1, Self.unexpectedColon),
            ("a:b\nc: 1\n", 2, Self.unexpectedColon),
            ("a: { b: 1\nc: 2\n", 1, "missing “,” or “}” after the “{”; a value with [, { or “: ” in it needs quotes"),
            ("a:\n  b: 1\n c: 2\n", 3, Self.wrongPlace),
            ("a:\n  b: {}:80\n", 2, Self.wrongPlace),
            ("a: [::1]:80\n", 1, "unclosed bracket, or text that must be quoted, such as '::1' or '[::1]:80'"),
            ("a: 'b\nc: 1\n", 1, "unclosed quote"),
            ("a: &x [1]\nc: { <<: *x }\n", 1, "“<<” merges mappings; write an alias such as “<<: *web”"),
            ("a: &x { b: 1 }\nc: { <<: *x, <<: *x }\n", 2, "duplicate key “<<”, already in line 2"),
            ("a:\n\u{A0}\u{A0}b: 1\n", 2, "no-break space (U+00A0) in the indentation; use spaces"),
            ("a:\n  b:\n  \u{A0}\u{A0}c: 1\n", 3, "no-break space (U+00A0) in the indentation; use spaces"),
            ("a:\r\n  \u{3000}- b\r\n", 2, "space U+3000 in the indentation; use spaces"),
            ("a: 1\nb: \u{A0}2\n", 2, "no-break space (U+00A0) before this text; use spaces"),
            ("a:\u{A0}{push: true}\n", 1, "no-break space (U+00A0) after the colon; use spaces"),
            ("a: 1\n\u{200B}b: 2\n", 2, "invisible character U+200B in the indentation; remove it"),
            ("a: 1\r\u{A0}b: 2\r", 2, "no-break space (U+00A0) in the indentation; use spaces"),
            ("path: /etc/passwd\u{A0}\n", 1, "no-break space (U+00A0) at the end; remove it"),
            ("path: /etc/passwd\u{200B}\n", 1, "invisible character U+200B at the end; remove it"),
            ("a\u{A0}b: 1\n", 1, "no-break space (U+00A0) in this key; use spaces"),
            ("a:\n  b\u{200D}: 1\n", 2, "invisible character U+200D at the end; remove it"),
            ("a:\n  b\u{200D}c: 1\n", 2, "invisible character U+200D in this key; remove it"),
            ("\"\u{AD}a\": 1\n", 1, "invisible character U+00AD in this key; remove it"),
            ("a: 1\n\u{FEFF}b: 2\n", 2, "byte order mark (U+FEFF) in the indentation; remove it"),
            ("a: [1, \u{2060}2]\n", 1, "invisible character U+2060 before this text; remove it"),
            ("a: \u{1}\n", 1, "control characters are not allowed"),
            ("a: 1\nb: 2\nc: \u{7}\n", 3, "control characters are not allowed"),
            ("# x\n%TAG ! tag:example.org,2026:\n---\na: 1\n", 2, "tags are not supported; remove %TAG"),
            ("a: 1\n...\n%TAG !a! x\n---\nb: 2\n", 3, "tags are not supported; remove %TAG"),
        ])
    func errors(text: String, line: Int, reason: String) {
        #expect(error(in: text)?.reason == reason)
        #expect(error(in: text)?.mark?.line == line)
    }

    @Test("values may be nested 32 levels deep, but not deeper")
    func depth() {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(error(in: nested(32)) == nil)
        #expect(error(in: nested(33))?.reason == "nested more than 32 levels deep")
        #expect(error(in: nested(100_000)) != nil)
    }

    @Test("a few hundred bytes of aliases do not become billions of values or keys")
    func aliasBombs() {
        var bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        for level in 1...20 {
            bomb += "a\(level): &a\(level) [\(Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ", "))]\n"
        }
        #expect(error(in: bomb)?.reason == "aliases add more than 10000 values; use fewer")
        #expect(error(in: "a: &a [x]\n? *a\n: 1\n")?.reason == "a key must be text")
    }
}
