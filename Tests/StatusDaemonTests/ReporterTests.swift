// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Logging
import StatusModel
import StatusMonitor
import StatusTestSupport
import Testing

@testable import StatusDaemon

@Suite("Reporters", .timeLimit(.minutes(1))) struct ReporterTests {
    private let monitor = StatusMonitor()
    private let recorder = LogRecorder()
    private let name: ServerName

    init() throws {
        name = try #require(ServerName("db"))
        monitor.add(ServerDefinition(name: name, source: "push"))
    }

    private func post(_ text: String) throws { try monitor.post(try StatusText(text), to: name) }

    @Test("each change is an entry with its fields, and a kind that users can filter by")
    func fields() async throws {
        let journal = try await changeRecorder()
        try post("Signed Out")
        try post("Signed In")
        await journal.close()
        let entry = try #require(recorder.entries.last)
        #expect(entry.message == "db: Signed In")
        #expect(entry.metadata["server"] == "db")
        #expect(entry.metadata["text"] == "Signed In")
        #expect(entry.metadata["old-text"] == "Signed Out")
        #expect(entry.metadata["level"] == "ok")
        #expect(entry.metadata["message-id"] == MessageID.changed.rawValue)
    }

    @Test("an entry names a level that is not ok")
    func level() async throws {
        let journal = try await changeRecorder()
        try monitor.post(try StatusText("Signed Out"), level: .critical, to: name)
        await journal.close()
        #expect(recorder.entries.last?.message == "db: Signed Out [critical]")
    }

    @Test("a flapping server is limited; the last entry is current, and gives the number of omitted ones")
    func limited() async throws {
        let journal = try await changeRecorder()
        try await EventLoop.run { for round in 1...500 { try post("\(round)") } }
        await journal.close()
        let entries = recorder.entries.filter { $0.metadata["server"] == "db" }
        #expect(entries.count < 50)
        #expect(entries.last?.metadata["text"] == "500")
        let omitted = entries.compactMap { $0.metadata["omitted"].flatMap { Int($0) } }.reduce(0, +)
        #expect(entries.count + omitted == 500)
    }

    @Test("an entry that is written late has the revision of its change, whatever changed the server since")
    func lateRevision() async throws {
        let journal = try await changeRecorder()
        let revision = try await EventLoop.run {
            for round in 1...500 { try post("\(round)") }
            let revision = try monitor.state(of: name).revision
            try monitor.select(name)
            try monitor.select(nil)
            return revision
        }
        await journal.close()
        let last = recorder.entries.last { $0.metadata["omitted"] != nil }
        #expect(last?.metadata["revision"] == String(revision))
    }

    @Test("a change that was left out is written before a selection that came after it")
    func lateChangeBeforeSelection() async throws {
        let journal = try await changeRecorder()
        try await EventLoop.run {
            for round in 1...500 { try post("\(round)") }
            try monitor.select(name)
        }
        await journal.close()
        let entries = recorder.entries.filter { $0.metadata["server"] == "db" }
        let revisions = entries.compactMap { $0.metadata["revision"].flatMap { Int($0) } }
        #expect(revisions == revisions.sorted())
        #expect(entries.last?.metadata["message-id"] == MessageID.selected.rawValue)
        #expect(entries.dropLast().last?.metadata["text"] == "500")
    }

    @Test("an entry that is written late names the client that posted its text, whatever changed the server since")
    func lateCaller() async throws {
        try monitor.redefine(ServerDefinition(name: name, source: "push", takesPosts: true))
        let journal = try await changeRecorder()
        func caller(after change: @Sendable () throws -> Void) async throws -> String? {
            try await EventLoop.run {
                for round in 1...50 {
                    let poster = Poster.client(Caller(user: 1000, process: 1))
                    try monitor.post(try StatusText("\(round)"), to: name, by: poster)
                }
                try change()
                journal.earn()
            }
            return recorder.entries.last?.metadata["caller-uid"]
        }
        #expect(try await caller { try monitor.fail(name, "no such file") } == "1000")
        #expect(try await caller { try post("from its source") } == nil)
        await journal.close()
    }

    @Test("omitted entries of a removed server are counted in the entry of its removal")
    func removed() async throws {
        let journal = try await changeRecorder()
        try await EventLoop.run {
            for round in 1...500 { try post("\(round)") }
            try monitor.remove(name)
        }
        await journal.close()
        let entries = recorder.entries.filter { $0.metadata["server"] == "db" }
        #expect(entries.last?.metadata["text"] == "500")
        #expect(entries.last?.metadata["message-id"] == MessageID.removed.rawValue)
        let omitted = entries.compactMap { $0.metadata["omitted"].flatMap { Int($0) } }.reduce(0, +)
        #expect(entries.count - 1 + omitted == 500)
    }

    @Test("a flood of selections is limited; the newest is written, with the number of omitted ones")
    func selections() async throws {
        let other = try #require(ServerName("other"))
        monitor.add(ServerDefinition(name: other, source: "push"))
        let journal = try await changeRecorder()
        try await EventLoop.run {
            for round in 1...1001 { try monitor.select(round % 2 == 0 ? other : name) }
            journal.earn()
        }
        let entries = recorder.entries.filter { $0.metadata["message-id"] == MessageID.selected.rawValue }
        #expect(entries.count == 21)
        #expect(entries.last?.message == "selected db: no status yet (980 earlier selections left out)")
        await journal.close()
    }

    @Test("servers that come and go in great numbers are counted, but each that was listed is listed as removed")
    func comingAndGoing() async throws {
        let journal = try await changeRecorder()
        let count = ChangeRecorder.burstOfAll
        let names = (0..<2 * count).compactMap { ServerName("server-\($0)") }
        try await EventLoop.run {
            for name in names { monitor.add(ServerDefinition(name: name, source: "push")) }
            try monitor.post(try StatusText("here"), to: names[0])
            for name in names { try monitor.remove(name) }
        }
        await journal.close()
        let servers = recorder.entries.compactMap { $0.metadata["server"] }
        #expect(servers == (names[..<count] + names[..<count]).map(\.rawValue))
        #expect(
            recorder.entries.last?.message == "left out earlier: \(count) servers added, \(count) servers removed")
    }

    @Test("a server that was removed and added again while its entries waited is shown as it is")
    func addedAgain() async throws {
        let journal = try await changeRecorder()
        let flood = (0..<ChangeRecorder.burstOfAll).compactMap { ServerName("server-\($0)") }
        try await EventLoop.run {
            try post("Signed In")
            for name in flood { monitor.add(ServerDefinition(name: name, source: "push")) }
            try monitor.remove(name)
            monitor.add(ServerDefinition(name: name, source: "push"))
            journal.earn()
        }
        #expect(recorder.entries.last { $0.metadata["server"] == "db" }?.message == "db: no status yet")
        await journal.close()
    }

    @Test("a flood in one turn of the loop leaves nothing uncounted")
    func flooded() async throws {
        let journal = try await changeRecorder()
        try await EventLoop.run { for round in 1...10_000 { try post("\(round)") } }
        await journal.close()
        let entries = recorder.entries.filter { $0.metadata["server"] == "db" }
        let omitted = entries.compactMap { $0.metadata["omitted"].flatMap { Int($0) } }.reduce(0, +)
        #expect(entries.count + omitted == 10_000)
        #expect(recorder.entries.allSatisfy { !$0.message.hasPrefix("left out earlier") })
    }

    @Test("servers that were removed while changes waited take one entry each, and the changes of others are written")
    func removedTakeNoCredit() async throws {
        let names = (0..<ChangeRecorder.burstOfAll + 300).compactMap { ServerName("server-\($0)") }
        for name in names { monitor.add(ServerDefinition(name: name, source: "push")) }
        let journal = try await changeRecorder()
        let text = try StatusText("Signed In")
        try await EventLoop.run {
            for name in names { try monitor.post(text, to: name) }
            for name in names { try monitor.remove(name) }
            try post("Signed In")
            for _ in 0..<12 { journal.earn() }
        }
        #expect(recorder.entries.last { $0.metadata["server"] != nil }?.message == "db: Signed In")
        #expect(recorder.entries.count(where: { $0.metadata["server"] != nil }) == 2 * names.count - 300 + 1)
        await journal.close()
    }

    @Test("many servers at once do not write more than journald accepts; the last states are written in the end")
    func limitedTogether() async throws {
        let names = (0..<ChangeRecorder.burstOfAll + 100).compactMap { ServerName("server-\($0)") }
        for name in names { monitor.add(ServerDefinition(name: name, source: "push")) }
        let journal = try await changeRecorder()
        let text = try StatusText("Signed In")
        let written = await withCheckedContinuation { continuation in
            EventLoop.perform {
                for name in names { _ = try? monitor.post(text, to: name) }
                // The reporter reads at the end of the turn, before this, so the clock does not advance.
                EventLoop.atEndOfTurn { continuation.resume(returning: recorder.entries.count) }
            }
        }
        #expect(written == ChangeRecorder.burstOfAll)
        await journal.close()
        #expect(Set(recorder.entries.compactMap { $0.metadata["server"] }) == Set(names.map(\.rawValue)))
    }

    @Test("a switch is shown at once, and of rapid statuses the newest is shown last")
    func serviceManager() async throws {
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        let state = try monitor.state(of: name)
        let reporter = try await EventLoop.run {
            let reporter = try ServiceManagerReporter { continuation.yield($0) }
            reporter.show(Report(server: nil, isSwitch: true))
            reporter.show(Report(server: state, isSwitch: true))
            for round in 1...100 {
                var state = state
                state.message = "\(round)"
                reporter.show(Report(server: state, isSwitch: false))
            }
            return reporter
        }
        var seen: [String] = []
        for await line in lines {
            seen.append(line)
            if line == "db: 100" { break }
        }
        #expect(seen == ["no server selected", "db: no status yet", "db: 100"])
        await reporter.mute(after: "stopping")
    }

    @Test("an error in the configuration is shown at once, until it is corrected")
    @EventLoop func complaints() throws {
        var lines: [String] = []
        let reporter = try ServiceManagerReporter { lines.append($0) }
        reporter.show(Report(server: try monitor.state(of: name), isSwitch: true))
        reporter.configuration = .taken(errors: 2)
        reporter.configuration = .refused
        reporter.configuration = .taken(errors: 0)
        #expect(
            lines == [
                "db: no status yet", "db: no status yet (2 errors in the configuration; run “statusctl verify”)",
                "db: no status yet (the configuration was not reloaded; run “statusctl verify”)", "db: no status yet",
            ])
    }

    @Test("a report after a restart is an entry only if it changes the status")
    func confirmed() async throws {
        for text in ["before", "Signed Out"] { try post(text) }
        let (entries, log) = monitor.entries
        let servers = monitor.save([name]).compactMap(\.self)
        let second = StatusMonitor(
            restoring: LedgerMemory(log: log, entries: entries, servers: servers, isOfThisBoot: true))
        let journal = try await changeRecorder(of: second)
        for text in ["Signed Out", "Signed In", "Signed Out"] { try second.post(try StatusText(text), to: name) }
        await journal.close()
        #expect(recorder.entries.map(\.message) == ["db: Signed In", "db: Signed Out"])
    }

    private func changeRecorder(of other: StatusMonitor? = nil) async throws -> ChangeRecorder {
        let (monitor, logger) = (other ?? monitor, recorder.logger)
        return try await EventLoop.run { try ChangeRecorder(monitor: monitor, sinks: [JournalWriter(logger: logger)]) }
    }
}
