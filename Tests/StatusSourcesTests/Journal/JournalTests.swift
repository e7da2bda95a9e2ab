// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusModel
import StatusWorkers
import Testing
import Varlink

@testable import StatusSources

@Suite("Messages of the journal") struct JournalTests {
    private func settings(_ value: String) throws -> JournalSettings? {
        try JournalSettings.read("journal: \(value)").settings
    }

    @Test("a unit alone has errors of the last ten minutes, each of which is critical")
    func short() throws {
        let settings = try #require(try settings("nginx"))
        #expect(settings == JournalSettings(unit: "nginx.service"))
        #expect(settings.matches == ["PRIORITY=0", "PRIORITY=1", "PRIORITY=2", "PRIORITY=3"])
        #expect((settings.within, settings.warning, settings.critical) == (.seconds(600), nil, 1))
    }

    @Test("a single priority means the more severe ones, too; a list and other fields have alternatives")
    func matches() throws {
        #expect(try settings("{ match: { PRIORITY: 1 } }")?.matches == ["PRIORITY=0", "PRIORITY=1"])
        #expect(try settings("{ match: { PRIORITY: alert } }")?.matches == ["PRIORITY=0", "PRIORITY=1"])
        #expect(try settings("{ match: { PRIORITY: [4, err] } }")?.matches == ["PRIORITY=4", "PRIORITY=3"])
        #expect(
            try settings("{ match: { _TRANSPORT: kernel, SYSLOG_IDENTIFIER: [a, 'b c'] } }")?.matches
                == ["_TRANSPORT=kernel", "SYSLOG_IDENTIFIER=a", "SYSLOG_IDENTIFIER=b c"])
    }

    @Test("with “warning” alone, no number of messages is critical")
    func limits() throws {
        let warning = try #require(try settings("{ unit: a, warning: 2 }"))
        #expect((warning.warning, warning.critical) == (2, nil))
        #expect(try settings("{ within: 10min }") == JournalSettings())
        let both = try #require(try settings("{ unit: a, warning: 2, critical: 5, within: 1h }"))
        #expect((both.warning, both.critical, both.within) == (2, 5, .seconds(3600)))
        #expect(
            [1, 2, 4, 5].map { both.judge(JournalFinding(count: $0, newest: "m")).level }
                == [.ok, .warning, .warning, .critical])
    }

    @Test(
        "invalid settings are refused",
        arguments: [
            "", "a/b", "[]", "true", "{ unit: false }", "{ unit: a/b }", "{ match: [] }", "{ match: {} }",
            "{ match: { priority: 3 } }", "{ match: { PRIORITY: 8 } }", "{ match: { PRIORITY: [] } }",
            "{ match: { PRIORITY: bad } }", "{ match: { A: } }", "{ match: { 1A: x } }", "{ unit: a, within: 0s }",
            "{ unit: a, critical: 0 }", "{ unit: a, warning: 3, critical: 3 }", "{ unit: a, critical: 10001 }",
        ])
    func mistakes(_ value: String) { #expect(throws: Problem.self) { try settings(value) } }

    @Test(
        "a match that no message has is a warning",
        arguments: [
            ("{ MESSAGE: '*disk full*' }", "“*disk full*” is compared with whole values; there are no patterns"),
            ("{ A: [b, 'c*'] }", "“c*” is compared with whole values; there are no patterns"),
            ("{ _SYSTEMD_UNT: a }", "journald sets no field “_SYSTEMD_UNT”; did you mean “_SYSTEMD_UNIT”?"),
        ])
    func neverMatching(_ match: String, _ reason: String) throws {
        let (settings, problems) = try JournalSettings.read("journal: { match: \(match) }")
        #expect(settings != nil)
        #expect(problems.map(\.severity) == [.warning])
        #expect(problems.map(\.reason) == [reason])
    }

    @Test("the text has the number, the time and the newest message, which is escaped and cut")
    func texts() throws {
        let settings = JournalSettings(unit: "a.service")
        func text(_ count: Int, _ newest: String?) -> String {
            settings.judge(JournalFinding(count: count, newest: newest)).text
        }
        #expect(text(0, nil) == "no message in 10 min")
        #expect(settings.judge(JournalFinding()).level == .ok)
        #expect(text(1, "disk full") == "1 message in 10 min: “disk full”")
        #expect(text(3, "a\u{1B}[31mb\nc") == "3 messages in 10 min: “a\\u{1b}[31mb\\nc”")
        #expect(text(10_001, "a") == "more than 10000 messages in 10 min: “a”")
        #expect(text(2, nil) == "2 messages in 10 min")
        #expect(
            text(1, String(repeating: "x", count: 200))
                == "1 message in 10 min: “\(String(repeating: "x", count: 79))…”")
        #expect(
            settings.judge(JournalFinding(count: 3, newest: "a")).values == [MeasuredValue("messages", 3, critical: 1)])
    }

    @Test("the settings reach the worker as they are")
    func wire() throws {
        for value in ["nginx", "{ match: { A: b }, warning: 2, within: 2min }"] {
            let settings = try #require(try settings(value))
            let message = WorkerMessage.encode(HostCall(settings: settings)).dropLast()
            let call = try Array(message).withUnsafeBytes { try WorkerMessage.decode(HostCall.self, from: $0) }
            #expect(call.settings as? JournalSettings == settings)
        }
    }
}
