// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusSupport
import Testing

@testable import StatusCommands

@Suite("The format of a line") struct FormatTests {
    private func server() throws -> ServerState {
        var state = ServerState(
            name: try #require(ServerName("db")), description: "Primary database", source: "push", phase: .loaded)
        let time = Timestamp(milliseconds: 0)
        state.status = Status(text: try StatusText("Signed In {x}"), level: .warning, changedAt: time, updatedAt: time)
        (state.isSelected, state.isStale, state.revision) = (true, true, 7)
        return state
    }

    @Test(
        "fields in braces are replaced, and all else stays",
        arguments: [
            ("{name} {level}", "db stale"), ("{name}: {text} [{lastLevel}]", "db: Signed In {x} [warning]"),
            ("{{{name}}}", "{db}"), (#"{name}\t{revision}\n\\"#, "db\t7\n\\"), (#"a\b"#, #"a\b"#),
            ("{mark}{selected}{stale}", "*yesyes"),
            ("{description}, {source}, {phase}", "Primary database, push, loaded"),
            ("{since}, {age}", "1970-01-01 00:00:00, 1min 5s"), ("{message}{host}", ""),
        ])
    func fields(template: String, line: String) throws {
        let line = line.replacing("1970-01-01 00:00:00", with: TimeText.full(Timestamp(milliseconds: 0)))
        #expect(try FormatTemplate(template).text(server(), now: Timestamp(milliseconds: 65_000)) == line)
    }

    @Test("only fields are escaped for another program")
    func escaping() throws {
        let template = try FormatTemplate("<b>{text}</b>")
        #expect(try template.text(server()) { $0.replacing("{", with: "(") } == "<b>Signed In (x}</b>")
    }

    @Test(
        "an invalid format is refused with advice",
        arguments: [
            ("{nam}", "did you mean “name”?"), ("{colour}", "the fields are name, text, level,"),
            ("{name", "without a “}”"),
            ("name}", "without a “{”"), ("", "must not be empty"),
        ])
    func invalid(template: String, part: String) {
        let error = #expect(throws: InvalidValue.self) { try FormatTemplate(template) }
        #expect(error?.reason.contains(part) ?? false, "\(String(describing: error))")
    }
}
