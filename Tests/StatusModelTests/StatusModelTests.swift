// SPDX-License-Identifier: Apache-2.0

import StatusModel
import Testing

@Suite struct ServerNameTests {
    @Test(
        "a name begins with a letter or digit and has at most 64 characters",
        arguments: ["a", "0", "db", "web-1.example.org", "user@host:1_2", String(repeating: "x", count: 64)])
    func accepts(_ text: String) { #expect(ServerName(text)?.rawValue == text) }

    @Test(
        "a name that could be a path, an option or nothing is refused",
        arguments: ["", ".", "..", "-x", "_x", "a/b", "a b", "a\n", "ä", "a\0", String(repeating: "x", count: 65)])
    func refuses(_ text: String) { #expect(ServerName(text) == nil) }
}

@Suite struct LevelTests {
    @Test("the order of levels is ok, warning, unknown, critical")
    func order() {
        let order: [Level] = [.ok, .warning, .unknown, .critical]
        for (index, level) in order.enumerated() {
            #expect(order.filter { level.isWorse(than: $0) } == Array(order[..<index]))
        }
    }

    @Test(
        "a status that is stale, failed or loaded again counts as unknown, but one that was critical stays critical",
        arguments: [
            (Level?.none, Level.unknown), (.ok, .unknown), (.warning, .unknown), (.unknown, .unknown),
            (.critical, .critical),
        ])
    func countedLevel(_ level: Level?, _ counted: Level) throws {
        let name = try #require(ServerName("db"))
        var state = ServerState(name: name, source: "push", phase: level == nil ? .empty : .loaded)
        let text = try StatusText("text")
        let time = Timestamp(milliseconds: 0)
        state.status = level.map { Status(text: text, level: $0, changedAt: time, updatedAt: time) }
        #expect(state.countedLevel == level)
        for phase in [Phase.failed, .loading, state.phase] {
            state.phase = phase
            state.isStale = phase != .failed && phase != .loading
            // Nothing is known yet while the first check runs.
            #expect(state.countedLevel == (level == nil && phase == .loading ? nil : counted), "\(phase)")
        }
    }
}

@Suite struct StatusTextTests {
    @Test("all kinds of white space are trimmed")
    func trims() throws {
        #expect(try StatusText(" \t Signed In \r\n").rawValue == "Signed In")
        #expect(try StatusText("\u{2028}\u{85}Signed In\u{3000}").rawValue == "Signed In")
    }

    @Test(
        "characters that control a terminal or a protocol are escaped",
        arguments: [
            ("a\nREADY=1", #"a\nREADY=1"#), ("a\0b", #"a\0b"#), ("a\tb", #"a\tb"#), ("a\r\nb", #"a\r\nb"#),
            ("\u{1b}[2J", #"\u{1b}[2J"#), ("a\u{9b}b", #"a\u{9b}b"#), ("a\u{7f}", #"a\u{7f}"#),
            ("a\u{2028}b", #"a\u{2028}b"#), ("a\u{202e}b", #"a\u{202e}b"#), ("a\u{2066}b", #"a\u{2066}b"#),
            ("näïve 🙂", "näïve 🙂"),
        ])
    func escapes(_ text: String, _ visible: String) throws {
        #expect(try StatusText(text).rawValue == visible)
        #expect(try StatusText(visible).rawValue == visible)
    }

    @Test("texts are equal if their bytes are")
    func equality() throws {
        #expect(try StatusText("\u{E9}") != StatusText("e\u{301}"))
        #expect(try StatusText("\u{E9}") == StatusText(" \u{E9} "))
    }

    @Test("a text that is empty, or too long after escaping, is an error")
    func refuses() {
        #expect(throws: InvalidStatus.empty) { try StatusText(" \n\t ") }
        #expect(throws: Never.self) { try StatusText(String(repeating: "x", count: 1024)) }
        #expect(throws: InvalidStatus.tooLong(1025)) { try StatusText(String(repeating: "x", count: 1025)) }
        #expect(throws: InvalidStatus.tooLong(1026)) { try StatusText("x" + String(repeating: "\n", count: 512) + "x") }
        #expect(throws: InvalidStatus.tooLong(1025)) { try StatusText(String(repeating: "\u{1}", count: 1025)) }
        #expect(throws: InvalidStatus.tooLong(2000)) { try StatusText(String(repeating: "ä", count: 1000)) }
    }

    @Test("a long text is cut between characters and ends in an ellipsis")
    func cuts() {
        let text = StatusText(fitting: "x" + String(repeating: "👨‍👩‍👧‍👦", count: 100))?.rawValue ?? ""
        #expect(text.utf8.count <= 1024)
        #expect(text.hasSuffix("👨‍👩‍👧‍👦…"))
        let escaped = StatusText(fitting: String(repeating: "\u{80}", count: 1000))?.rawValue ?? ""
        #expect(escaped.hasPrefix(String(repeating: #"\u{80}"#, count: 170)) && escaped.hasSuffix("…"))
        let long = String(repeating: "ä", count: 511)
        #expect(StatusText(fitting: long + "€€")?.rawValue == long.dropLast() + "…")
        #expect(StatusText(fitting: long + String(repeating: " ", count: 100))?.rawValue == long)
        #expect(StatusText(fitting: "short")?.rawValue == "short")
        #expect(StatusText(fitting: " \n") == nil)
    }
}

@Suite struct EpochTests {
    @Test("an epoch is written as 32 digits and read back unchanged")
    func writesAndReads() {
        for _ in 0..<100 {
            let epoch = Epoch.random()
            #expect(epoch.description.count == 32 && epoch.description.allSatisfy { "0123456789abcdef".contains($0) })
            #expect(Epoch(epoch.description) == epoch)
        }
        #expect(Epoch("0123456789abcdeffedcba9876543210").description == "0123456789abcdeffedcba9876543210")
    }

    @Test(
        "an invalid text is the epoch of no daemon",
        arguments: [
            "", "x", "0123456789abcdeffedcba987654321", "0123456789ABCDEFfedcba9876543210",
            "0123456789abcdeffedcba98765432100",
        ])
    func refuses(_ text: String) {
        #expect(Epoch(text) == .none)
        #expect(Epoch.random() != .none)
    }
}

@Suite struct TimestampTests {
    @Test(
        "a time is written as RFC 3339 in UTC with milliseconds, and read back",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"), (1_795_249_800_250, "2026-11-21T08:30:00.250Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
        ] as [(Int64, String)])
    func writes(_ milliseconds: Int64, _ text: String) {
        #expect(Timestamp(milliseconds: milliseconds).description == text)
        #expect(Timestamp(text)?.milliseconds == milliseconds)
    }

    @Test(
        "each form of RFC 3339 is read",
        arguments: [
            ("2026-11-21T08:30:00Z", "2026-11-21T08:30:00.000Z"),
            ("2026-11-21 08:30:00.2z", "2026-11-21T08:30:00.200Z"),
            ("2026-11-21t08:30:00.123456789Z", "2026-11-21T08:30:00.123Z"),
            ("2026-11-21T00:30:00+01:00", "2026-11-20T23:30:00.000Z"),
            ("2026-11-20T23:30:00.999999-00:45", "2026-11-21T00:15:00.999Z"),
            ("2026-12-31T23:59:60Z", "2027-01-01T00:00:00.000Z"),
        ])
    func reads(_ text: String, _ time: String) { #expect(Timestamp(text)?.description == time) }

    @Test(
        "other texts, and dates that the calendar does not have, are refused",
        arguments: [
            "", "2026-11-21", "2026-11-21T08:30Z", "2026-11-21T08:30:00", "2026-11-21T08:30:00.Z",
            "2026-11-21T08:30:00Z ", "2026-13-21T08:30:00Z", "2026-02-29T08:30:00Z", "2026-00-10T08:30:00Z",
            "2026-11-21T24:00:00Z", "2026-11-21T08:30:61Z", "2026-11-21T08:30:00+0100", "2026-11-21T08:30:00+1:00",
            "+026-11-21T08:30:00Z", "0000-01-01T00:00:00+00:01", "9999-12-31T23:59:60Z", "２026-11-21T08:30:00Z",
        ])
    func refuses(_ text: String) { #expect(Timestamp(text) == nil) }
}

@Suite("Visible text") struct VisibleTextTests {
    @Test(
        "an excerpt is escaped and bounded in bytes; a cut text ends in an ellipsis",
        arguments: [
            ("short", "short"), ("12345678", "12345678"), ("123456789", "12345678…"), ("a\nb", "a\\nb"),
            ("\u{7f}\u{7f}", "\\u{7f}\\u…"), ("ääääx", "ääää…"), ("xääää", "xäää…"), ("", ""),
        ])
    func excerpt(text: String, shown: String) { #expect(VisibleText.excerpt(text, bytes: 8) == shown) }
}
