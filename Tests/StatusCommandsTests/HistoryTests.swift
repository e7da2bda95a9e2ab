// SPDX-License-Identifier: Apache-2.0

import StatusInterface
import StatusModel
import Testing

@testable import StatusCommands

@Suite("Lines of the history") struct HistoryTests {
    private let plain = Style(isTerminal: false, environment: ["LANG": "C.UTF-8"])
    private let begin = Timestamp(milliseconds: 1_700_000_000_000)

    private func change(
        _ kind: ChangeKind = .changed, _ name: String? = "db", _ text: String = "Signed In", level: Level = .ok,
        after milliseconds: Int64 = 0, revision: Int = 1
    ) throws -> Change {
        let time = Timestamp(milliseconds: begin.milliseconds + milliseconds)
        guard let name else { return Change(kind, at: time, revision: revision) }
        var server = ServerState(name: try #require(ServerName(name)), source: "push", phase: .loaded)
        server.status = Status(text: try StatusText(text), level: level, changedAt: time, updatedAt: time)
        return Change(kind, at: time, revision: revision, server: server)
    }

    /// The line without its time.
    private func line(
        _ change: Change, user: String? = nil, width: Int? = nil, namesServers: Bool = false, after: Int64 = 0
    ) -> String {
        let text = ChangeText(style: plain, width: width, namesServers: namesServers)
        let now = Timestamp(milliseconds: begin.milliseconds + after)
        let line = text.line(change, user: user, now: now)
        #expect(line.hasPrefix(TimeText.full(change.at)))
        return String(line.dropFirst("2026-11-25 12:00:00".count))
    }

    @Test("a line has the span, the level, the text, the reason, the number of omitted changes, and the user")
    func wholeLine() throws {
        var change = try change(level: .critical)
        change.lasted = 200_000
        #expect(line(change) == "    3min 20s  critical  \"Signed In\"")
        #expect(line(change, namesServers: true) == "    3min 20s  critical  db: \"Signed In\"")
        change.server?.phase = .failed
        change.server?.message = "no answer"
        change.server?.isStale = true
        change.omitted = 7
        #expect(
            line(change, user: "alice")
                == "    3min 20s  failed    \"Signed In\" (no answer) (stale) (7 earlier changes left out)  by alice")
        change.omitted = 1
        #expect(line(change).hasSuffix(" (1 earlier change left out)"))
    }

    @Test("no text looks like one with a user, because its quotation marks are escaped")
    func lookalike() throws {
        let change = try change(.changed, "db", "x\"  by root")
        #expect(line(change).hasSuffix("  \"x\\\"  by root\""))
        #expect(line(change, user: "alice").hasSuffix("  \"x\\\"  by root\"  by alice"))
    }

    @Test("without a status, a line has the reason in brackets and no quotation marks")
    func noStatus() throws {
        var change = try change()
        change.server?.status = nil
        change.server?.phase = .failed
        change.server?.message = "no answer"
        #expect(line(change, user: "root").hasSuffix("failed    (no answer)  by root"))
    }

    @Test("a state that still lasts has a plus after its span")
    func soFar() throws {
        let change = try change()
        #expect(line(change, after: 720_000).hasPrefix("      12min+  ok  "))
        // The clock was set back.
        #expect(line(change, after: -5000).hasPrefix("         0s+  ok  "))
    }

    @Test(
        "a span has at most two units, and no fraction of a second",
        arguments: [
            (-1, "0s"), (0, "0s"), (250, "250ms"), (1999, "1s"), (200_000, "3min 20s"), (7_500_000, "2h 5min"),
            (345_600_000, "4d"), (86_399_999, "23h 59min"),
        ])
    func spans(_ milliseconds: Int, _ text: String) { #expect(ChangeText.span(milliseconds) == text) }

    @Test("selections, servers that come and go, and the daemon have a line without a level")
    func otherLines() throws {
        let blank = String(repeating: " ", count: 14)
        #expect(try line(change(.selected)) == "\(blank)-- selected db")
        #expect(try line(change(.selected, nil), user: "root") == "\(blank)-- no server selected  by root")
        #expect(try line(change(.added)) == "\(blank)-- added db")
        #expect(try line(change(.removed), user: "17") == "\(blank)-- removed db  by 17")
        #expect(try line(change(.started, nil)) == "\(blank)-- statusd started")
        #expect(try line(change(.stopped, nil)) == "\(blank)-- statusd stopped")
    }

    @Test("on a terminal a line is cut to the width, the text first")
    func cut() throws {
        let long = try change(.changed, "db", String(repeating: "x", count: 200))
        for width in [52, 80, 200] {
            #expect(line(long, user: "alice", width: width).count == width - "2026-11-25 12:00:00".count)
        }
        #expect(line(long, user: "alice", width: 80).hasSuffix("xxx…\"  by alice"))
        #expect(line(long, user: "alice", width: 60).hasSuffix("xxx…"))
        #expect(line(long).count > 200)
        #expect(try line(change(.removed, String(repeating: "a", count: 64)), width: 60).hasSuffix("aaa…"))
    }

    @Test("a narrow terminal has the time of day, the level and the text, without the span")
    func narrow() throws {
        let text = ChangeText(style: plain, width: 40, namesServers: false)
        let line = try text.line(change(.changed, "db", "Signed In since yesterday"), user: nil, now: begin)
        #expect(line == "\(TimeText.short(begin, now: begin))  ok        \"Signed In since y…\"")
        #expect(line.count == 40)
    }

    @Test("the newest changes of a merged history are kept", arguments: [1, 2, 7, 100, Int.max])
    func newest(limit: Int) throws {
        var newest = NewestChanges(limit: limit)
        for revision in 0..<20 { newest.append(try change(revision: revision)) }
        #expect(newest.changes.map(\.revision) == Array((0..<20).suffix(limit)))
    }

    @Test("the note about an empty history says what was requested")
    func emptyNote() throws {
        let names = try ["db", "web"].map { try #require(ServerName($0)) }
        var request = HistoryRequest(servers: .named(names), period: HistoryPeriod(), level: .warning)
        #expect(request.emptyNote == "no changes of db or web with level warning or worse in the history")
        request = HistoryRequest(servers: .all, period: HistoryPeriod(since: begin))
        #expect(request.emptyNote == "no changes of any server since \(TimeText.full(begin))")
    }

    @Test("the journal's command names the servers")
    func journal() throws {
        let name = try #require(ServerName("db"))
        #expect(HistoryWriter.journalCommand(.selected(name)) == "journalctl -u statusd SERVER=db -o verbose")
        #expect(HistoryWriter.journalCommand(.all) == "journalctl -u statusd -o verbose")
    }
}
