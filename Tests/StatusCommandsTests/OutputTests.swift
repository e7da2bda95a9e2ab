// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusInterface
import StatusModel
import Testing
import Varlink

@testable import StatusCommands

@Suite("Output") struct OutputTests {
    private let plain = Style(isTerminal: false, environment: ["LANG": "C.UTF-8"])

    private func server(_ name: String, _ text: String? = nil, level: Level = .ok) throws -> ServerState {
        var state = ServerState(
            name: try #require(ServerName(name)), source: "push", phase: text == nil ? .empty : .loaded,
            message: text == nil ? "no status yet" : nil)
        if let text {
            state.status = Status(
                text: try StatusText(text), level: level, changedAt: Timestamp(milliseconds: 0),
                updatedAt: Timestamp(milliseconds: 0))
        }
        return state
    }

    private func table(_ servers: [ServerState], _ style: Style, width: Int?, legend: Bool = false) -> [String] {
        ServerListing(style: style, width: width, now: Timestamp(milliseconds: 0)).lines(
            servers.map { ServerListing.Row(server: $0) }, legend: legend)
    }

    @Test("an error is one line of JSON without control characters, whatever the daemon sent")
    func hostileError() {
        let sent = "{\n\t\"reason\": \"a\u{9b}31mb\u{7f}\u{202e}c\u{2028}d\\n\"\r\n}"
        let error = VarlinkError(name: "org.example.X\n\u{1b}", parameters: Array(sent.utf8))
        #expect(
            Terminal.json { $0.value(CommandFailure(.failed, "", error: error)) }
                == #"{"error":"org.example.X\n\u001b","parameters":{"reason": "a\u009b31mb\u007f\u202ec\u2028d\n"}}"#)
    }

    @Test("a reply is one line of JSON without control characters, too")
    func hostileReply() {
        let reply = MonitorInterface.ReloadReply(
            added: ["a\u{9b}31mb\u{7f}\u{202e}c\u{2028}d\n é"], changed: [], removed: [], failed: [], warnings: [])
        #expect(
            Terminal.json { $0.value(reply) }.contains(#""added":["a\u009b31mb\u007f\u202ec\u2028d\n é"]"#))
    }

    @Test("a reload names the servers that it adds, and the one that it selects")
    func reload() {
        let reply = MonitorInterface.ReloadReply(
            added: ["a", "b"], changed: [], removed: [], failed: [], warnings: [], selected: "b")
        #expect(PlanText.lines(of: reply) == ["added: a, b", "selected: b"])
    }

    @Test("the selected server is marked, columns line up, and nothing is cut in a pipe")
    func table() throws {
        var db = try server("db", String(repeating: "x", count: 200))
        db.isSelected = true
        let lines = table([db, try server("login")], plain, width: nil, legend: true)
        #expect(lines[0].hasPrefix("  SERVER  STATUS "))
        #expect(lines[1].hasPrefix("* db      " + String(repeating: "x", count: 200) + "  ok "))
        #expect(lines[2].hasPrefix("  login   (no status yet) "))
        let narrow = table([db], plain, width: 80, legend: false)
        #expect(narrow[0].count <= 80)
        #expect(narrow[0].contains("x…  ok"))
        let ascii = table([db], Style(isTerminal: false, environment: [:]), width: 80, legend: false)
        #expect(ascii[0].count <= 80)
        #expect(ascii[0].contains("x...  ok"))
    }

    @Test("a status that is not current shows the reason, and also that it is stale")
    func failedAndStale() throws {
        var db = try server("db", "Signed In")
        (db.phase, db.message) = (.failed, "no answer within 1s")
        #expect(
            table([db], plain, width: nil, legend: false)[0].contains(
                " Signed In (no answer within 1s)  failed "))
        #expect(ServerText.line(db, plain).hasSuffix(" db: Signed In [failed] (no answer within 1s)"))
        db.isStale = true
        #expect(db.markedHeadline == "Signed In (failed: no answer within 1s) (stale)")
        #expect(ServerText.line(db, plain).hasSuffix(" db: Signed In [failed] (no answer within 1s) (stale)"))
        #expect(ServerText.details(db, style: plain, width: nil).contains("  Stale:        yes"))
    }

    @Test("a server that never posted is shown as stale only once")
    func emptyAndStale() throws {
        var backup = try server("backup")
        backup.isStale = true
        #expect(ServerText.line(backup, plain) == "--:--:-- backup: (no status yet) [stale]")
        #expect(!ServerText.details(backup, style: plain, width: nil).contains { $0.contains("Stale:") })
    }

    @Test("a line also shows the date, unless it is today")
    func days() {
        let noon = Timestamp(milliseconds: 1_700_000_000_000)
        #expect(TimeText.short(noon, now: noon).count == "08:30:00".count)
        let nextWeek = Timestamp(milliseconds: noon.milliseconds + 7 * 86_400_000)
        #expect(TimeText.short(noon, now: nextWeek) == TimeText.full(noon))
        let nextYear = Timestamp(milliseconds: noon.milliseconds + 366 * 86_400_000)
        let full = Array(TimeText.full(noon))
        #expect(TimeText.brief(noon, now: noon) == String(full[11...]))
        #expect(TimeText.brief(noon, now: nextWeek) == String(full[5..<16]))
        #expect(TimeText.brief(noon, now: nextYear) == String(full[..<10]))
        #expect(TimeText.short(nextWeek, now: noon) == TimeText.full(nextWeek))
    }

    @Test("the former level is shown with a status that is not current")
    func formerLevel() throws {
        var db = try server("db", "Signed Out", level: .critical)
        #expect(ServerText.details(db, style: plain, width: nil).contains("  Level:        critical"))
        db.isStale = true
        #expect(ServerText.details(db, style: plain, width: nil).contains("  Level:        stale (was critical)"))
        (db.phase, db.message) = (.failed, "no answer")
        #expect(ServerText.details(db, style: plain, width: nil).contains("  Level:        failed (was critical)"))
        #expect(try ServerText.details(server("new"), style: plain, width: nil).contains("  Level:        -"))
    }

    @Test("SINCE is when the level last changed, not the text")
    func since() throws {
        var db = try server("db")
        let time = Timestamp(milliseconds: 1_700_000_000_000)
        db.status = Status(
            text: try StatusText("9 users"), level: .ok, changedAt: Timestamp(milliseconds: time.milliseconds + 60_000),
            levelChangedAt: time, updatedAt: Timestamp(milliseconds: time.milliseconds + 90_000))
        let since = TimeText.full(time)
        #expect(table([db], plain, width: nil, legend: false)[0].contains("  \(since)  "))
        #expect(
            ServerText.details(db, style: plain, width: nil).contains {
                $0.hasPrefix("  Since:        \(since); ") && $0.hasSuffix(" ago")
            })
    }

    @Test("on a terminal, the text and the description are wrapped, and say how long ago a time was")
    func wrappedDetails() throws {
        var db = try server("db", "Signed In, with a text that needs several lines on a terminal of 40 columns")
        db.description = "Primary database of the shop and of all that depends on it"
        let lines = ServerText.details(db, style: plain, width: 40, now: Timestamp(milliseconds: 90_061_000))
        #expect(lines[..<2] == ["db: Signed In, with a text that needs", "several lines on a terminal of 40"])
        #expect(lines.contains("  Description:  Primary database of the"))
        #expect(lines.contains("                shop and of all that"))
        let since = TimeText.full(Timestamp(milliseconds: 0))
        #expect(
            ServerText.details(db, style: plain, width: nil, now: Timestamp(milliseconds: 90_061_000))
                .contains("  Since:        \(since); 1d 1h ago"))
        #expect(lines.allSatisfy { $0.count <= 40 }, "\(lines)")
    }

    @Test("an event is a line; a keep-alive is not shown")
    func events() throws {
        let cursor = Cursor(epoch: .none, revision: 1)
        func lines(_ kind: EventKind, _ server: ServerState? = nil, missed: Int? = nil) -> [String] {
            ServerText.lines(for: Event(kind: kind, cursor: cursor, server: server, missed: missed), style: plain)
        }
        let db = try server("db", "Signed In")
        #expect(
            lines(.changed, db).map { String($0.dropFirst("1970-01-01 00:00:00".count)) } == [" db: Signed In [ok]"])
        #expect(lines(.selected, db)[0].hasPrefix("-- selected "))
        #expect(lines(.selected) == ["-- no server selected"])
        #expect(lines(.gap, missed: 7) == ["-- 7 events missed"])
        #expect(lines(.alive) == [])
        let snapshot = Event(kind: .snapshot, cursor: cursor, server: db)
        #expect(ServerText.lines(for: snapshot, isSwitch: true, style: plain) == lines(.selected, db))
    }

    @Test(
        "colour is only for terminals whose users want it, or where SYSTEMD_COLORS says so",
        arguments: [
            ([:], true, true), ([:], false, false), (["NO_COLOR": "1"], true, false), (["NO_COLOR": ""], true, true),
            (["SYSTEMD_COLORS": "0"], true, false), (["SYSTEMD_COLORS": "1", "NO_COLOR": "1"], true, true),
            (["SYSTEMD_COLORS": "256"], false, true), (["SYSTEMD_COLORS": "auto-256"], false, false),
            (["TERM": "dumb"], true, false),
        ] as [([String: String], Bool, Bool)])
    func colour(_ environment: [String: String], _ isTerminal: Bool, _ isColoured: Bool) {
        #expect(Style(isTerminal: isTerminal, environment: environment).isColoured == isColoured)
    }

    @Test(
        "without a daemon, only that of the system is started with systemctl",
        arguments: [
            (MonitorAddress.system, "systemctl enable --now"),
            ("/home/run\(MonitorAddress.system)", "start a daemon there"),
        ])
    func noDaemon(path: String, advice: String) {
        let failure = CommandFailure(of: VarlinkClientError(.noService, "refused"), address: .local(.unix(.path(path))))
        #expect(failure.sentence.contains(advice))
    }

    @Test(
        "each error has its exit status",
        arguments: [
            ("org.statusd.monitor.NoSuchServer", 4), ("org.statusd.monitor.NothingSelected", 4),
            ("org.statusd.monitor.NotRefreshable", 5), ("org.statusd.monitor.WaitTimedOut", 75),
            ("org.statusd.monitor.ReloadFailed", 78), ("org.varlink.service.PermissionDenied", 77),
            ("org.statusd.monitor.InvalidStatus", 1), ("anything.Else", 1),
        ] as [(String, Int32)])
    func statuses(_ name: String, _ status: Int32) {
        let server = name.hasSuffix("WaitTimedOut") ? "null" : #""db""#
        let parameters = #"{"server":\#(server),"reason":"r","failed":[]}"#
        let error = MonitorError(reply: VarlinkError(name: name, parameters: Array(parameters.utf8)))
        #expect(ExitStatus(error).rawValue == status)
    }
}
