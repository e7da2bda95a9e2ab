// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Logging
import StatusModel
import StatusMonitor
import Synchronization
import TestSupport
import Testing

@testable import StatusDaemon

@Suite("Reporters", .timeLimit(.minutes(5))) struct ReporterTests {
    private let monitor = StatusMonitor()
    private let recorder = LogRecorder()
    private let name: ServerName

    init() throws {
        name = try #require(ServerName("db"))
        monitor.add(ServerDefinition(name: name, source: "push"))
    }

    private func post(_ text: String) throws { try monitor.post(try StatusText(text), to: name) }

    @Test("each change is an entry with fields, and with a kind for filters")
    func fields() async throws {
        let (recording, journal) = try await record()
        try post("Signed Out")
        try post("Signed In")
        await close(recording, journal)
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
        let (recording, journal) = try await record()
        try monitor.post(try StatusText("Signed Out"), level: .critical, to: name)
        await close(recording, journal)
        #expect(recorder.entries.last?.message == "db: Signed Out [critical]")
    }

    @Test("a critical status that cannot be checked any more is still an error, and a good one a warning")
    func failedLevel() async throws {
        let (recording, journal) = try await record()
        try monitor.post(try StatusText("Signed Out"), level: .critical, to: name)
        try monitor.fail(name, because: "no plugin")
        try monitor.redefine(ServerDefinition(name: name, source: "push"))
        try post("Signed In")
        try monitor.fail(name, because: "no plugin")
        await close(recording, journal)
        let failures = recorder.entries.filter { $0.message.contains("failed: no plugin") }
        #expect(failures.map(\.level) == [.error, .warning])
    }

    @Test("a new text at an unchanged bad level is a notice, and at a level that changes back an error again")
    func textAtOneLevel() async throws {
        let (recording, journal) = try await record()
        for (text, level) in [("95 %", .critical), ("96 %", .critical), ("50 %", .ok), ("97 %", .critical)]
            as [(String, Level)]
        {
            try monitor.post(try StatusText(text), level: level, to: name)
        }
        await close(recording, journal)
        #expect(recorder.entries.map(\.level) == [.error, .notice, .notice, .error])
    }

    @Test("changes of text at one level are limited to one a minute, and a change of level is written at once")
    func textsLimited() async throws {
        let time = Mutex(ContinuousClock.now)
        let (recording, journal) = try await record(clock: { time.withLock { $0 } })
        let written = try await EventLoop.run {
            @EventLoop func entries(after duration: Duration) -> Int {
                time.withLock { $0 += duration }
                for _ in 1...60 { journal.earn() }
                return recorder.entries.count
            }
            @EventLoop func post(_ texts: ClosedRange<Int>) throws {
                for text in texts {
                    try self.post("\(text)")
                    recording.read()
                }
            }
            try post(1...50)
            var written = [entries(after: .seconds(1))]
            try post(51...100)
            written += [entries(after: .seconds(1)), entries(after: .seconds(58)), entries(after: .seconds(3600))]
            try post(101...150)
            written.append(entries(after: .seconds(1)))
            try post(151...200)
            try monitor.post(try StatusText("down"), level: .critical, to: name)
            recording.read()
            return written
        }
        // The first change has a new level; then there are 20 changes of text at once, and one a minute later.
        #expect(written == [21, 21, 22, 22, 42])
        #expect(recorder.entries.last?.message == "db: down [critical] (80 earlier changes left out)")
        await close(recording, journal)
        #expect(recorder.entries.count == 43)
    }

    @Test("a flapping server is limited; the last entry is current, and gives the number of omitted ones")
    func limited() async throws {
        let (recording, journal) = try await record()
        try await EventLoop.run { for round in 1...500 { try post("\(round)") } }
        await close(recording, journal)
        let entries = recorder.entries.filter { $0.metadata["server"] == "db" }
        #expect(entries.count < 50)
        #expect(entries.last?.metadata["text"] == "500")
        let omitted = entries.compactMap { $0.metadata["omitted"].flatMap { Int($0) } }.reduce(0, +)
        #expect(entries.count + omitted == 500)
    }

    @Test("omitted entries of a removed server are counted in the entry of its removal")
    func removed() async throws {
        let (recording, journal) = try await record()
        try await EventLoop.run {
            for round in 1...500 { try post("\(round)") }
            try monitor.remove(name)
        }
        await close(recording, journal)
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
        let (recording, journal) = try await record()
        try await EventLoop.run {
            for round in 1...1001 { try monitor.select(round % 2 == 0 ? other : name) }
            recording.read()
            journal.earn()
        }
        let entries = recorder.entries.filter { $0.metadata["message-id"] == MessageID.selected.rawValue }
        #expect(entries.count == 21)
        #expect(entries.last?.message == "selected db: no status yet (980 earlier selections left out)")
        await close(recording, journal)
    }

    @Test("many servers that come and go are limited, and the last entry of each reports its removal")
    func comingAndGoing() async throws {
        let (recording, journal) = try await record()
        let names = (0..<2 * JournalWriter.burstOfAll).compactMap { ServerName("server-\($0)") }
        try await EventLoop.run {
            for name in names { monitor.add(ServerDefinition(name: name, source: "push")) }
            for name in names { try monitor.remove(name) }
            recording.read()
            #expect(recorder.entries.count == JournalWriter.burstOfAll)
        }
        await close(recording, journal)
        let last = recorder.entries.suffix(names.count)
        #expect(Set(last.compactMap { $0.metadata["server"] }) == Set(names.map(\.rawValue)))
        #expect(last.allSatisfy { $0.metadata["message-id"] == MessageID.removed.rawValue })
        #expect(last.count { $0.message.hasSuffix(" removed (1 earlier change left out)") } == names.count / 2)
    }

    @Test("of more servers than can wait, the changes that waited longest are left out and counted")
    func tooMany() async throws {
        let (recording, journal) = try await record()
        let surplus = 100
        let count = JournalWriter.burstOfAll + JournalWriter.mostWaiting + surplus
        try await EventLoop.run {
            for number in 0..<count {
                let name = try #require(ServerName("server-\(number)"))
                monitor.add(ServerDefinition(name: name, source: "push"))
                recording.read()
            }
            #expect(recorder.entries.count == JournalWriter.burstOfAll)
        }
        await close(recording, journal)
        #expect(recorder.entries.count == count - surplus + 1)
        #expect(
            recorder.entries.contains { $0.message == "\(surplus) changes of servers left out: too many at once" })
    }

    @Test("a server that was removed and added again while its entries waited is shown in its current state")
    func addedAgain() async throws {
        let (recording, journal) = try await record()
        let flood = (0..<JournalWriter.burstOfAll).compactMap { ServerName("server-\($0)") }
        try await EventLoop.run {
            try post("Signed In")
            for name in flood { monitor.add(ServerDefinition(name: name, source: "push")) }
            try monitor.remove(name)
            monitor.add(ServerDefinition(name: name, source: "push"))
            recording.read()
            journal.earn()
        }
        #expect(
            recorder.entries.last { $0.metadata["server"] == "db" }?.message == "db added (1 earlier change left out)")
        await close(recording, journal)
    }

    @Test("a flood in one turn of the loop is counted completely")
    func flooded() async throws {
        let (recording, journal) = try await record()
        try await EventLoop.run { for round in 1...10_000 { try post("\(round)") } }
        await close(recording, journal)
        let entries = recorder.entries.filter { $0.metadata["server"] == "db" }
        let omitted = entries.compactMap { $0.metadata["omitted"].flatMap { Int($0) } }.reduce(0, +)
        #expect(entries.count + omitted == 10_000)
    }

    @Test("many servers at once write no more than journald accepts; their last states are written in the end")
    func limitedTogether() async throws {
        let names = (0..<JournalWriter.burstOfAll + 100).compactMap { ServerName("server-\($0)") }
        for name in names { monitor.add(ServerDefinition(name: name, source: "push")) }
        let (recording, journal) = try await record()
        let text = try StatusText("Signed In")
        let written = await withCheckedContinuation { continuation in
            EventLoop.perform {
                for name in names { _ = try? monitor.post(text, to: name) }
                // The reporter reads at the end of the turn, before this, so the clock does not advance.
                EventLoop.atEndOfTurn { continuation.resume(returning: recorder.entries.count) }
            }
        }
        #expect(written == JournalWriter.burstOfAll)
        await close(recording, journal)
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
        let (recording, journal) = try await record(second)
        for text in ["Signed Out", "Signed In", "Signed Out"] { try second.post(try StatusText(text), to: name) }
        await close(recording, journal)
        #expect(recorder.entries.map(\.message) == ["db: Signed In", "db: Signed Out"])
    }

    private func record(
        _ other: StatusMonitor? = nil, clock: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) async throws -> (ChangeRecorder, JournalWriter) {
        let (monitor, logger) = (other ?? monitor, recorder.logger)
        return try await EventLoop.run {
            let journal = try JournalWriter(logger: logger, clock: clock)
            return (try ChangeRecorder(monitor: monitor, sinks: [journal]), journal)
        }
    }

    private func close(_ recording: ChangeRecorder, _ journal: JournalWriter) async {
        await EventLoop.run {
            recording.close()
            journal.close()
        }
    }
}
