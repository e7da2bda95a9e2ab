// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusMonitor
import Testing

/// Memory that survives a monitor.
private final class SharedMemory: Sendable {
    private let address: UInt

    init() {
        address = UInt(bitPattern: UnsafeMutableRawPointer.allocate(byteCount: EventTally.size, alignment: 64))
        fill(with: 0)
    }

    deinit { start?.deallocate() }

    private var start: UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: address) }

    func set(_ byte: UInt8, at offset: Int) { start?.storeBytes(of: byte, toByteOffset: offset, as: UInt8.self) }

    func fill(with byte: UInt8) { start?.initializeMemory(as: UInt8.self, repeating: byte, count: EventTally.size) }

    var tally: EventTally {
        guard let start else { preconditionFailure("no memory") }
        return EventTally(start)
    }
}

@Suite("A monitor after a crash")
struct CrashTests {
    /// A monitor that is killed after its state was saved for the last time.
    private final class Crash {
        private let memory = SharedMemory()
        let first: StatusMonitor
        /// The monitor that runs now.
        private var current: StatusMonitor
        var saved: LedgerMemory?

        init() {
            first = StatusMonitor(tally: memory.tally, notesUnsaved: true, capacities: 8...8)
            current = first
            for server in ["a", "b"] { first.add(ServerDefinition(name: name(server), source: "push")) }
        }

        func post(_ text: String, to server: String) throws { try first.post(try StatusText(text), to: name(server)) }

        /// Saves the state, as a batch of the store does.
        func save() {
            let unsaved = current.takeUnsaved()
            // The others stay in the file as they are.
            let others = saved?.servers.filter { !unsaved.names.contains($0.state.name) } ?? []
            var memory = LedgerMemory(
                log: unsaved.log, servers: others + current.save(unsaved.names).compactMap { $0 }, isOfThisBoot: true)
            memory.isComplete = false
            saved = memory
        }

        /// Stops the monitor, which saves everything, and starts another one.
        func restartCleanly() throws -> StatusMonitor {
            save()
            var memory = try #require(saved)
            memory.isComplete = true
            memory.entries = current.entries.entries
            current = StatusMonitor(restoring: memory, tally: self.memory.tally, notesUnsaved: true, capacities: 8...8)
            return current
        }

        /// Kills the monitor and starts another one.
        func restart() throws -> StatusMonitor {
            var memory = try #require(saved)
            memory.past = self.memory.tally.read()
            current = StatusMonitor(restoring: memory, tally: self.memory.tally, notesUnsaved: true, capacities: 8...8)
            return current
        }
    }

    @Test("continues a stream without a gap if everything was saved, and the reader has seen it")
    func nothingLost() throws {
        let crash = Crash()
        try crash.post("1", to: "a")
        let seen = crash.first.cursor
        crash.save()
        let second = try crash.restart()
        let watch = try second.watch(.all, since: seen) { _ in }
        #expect(watch.lines() == [])
        try second.post(try StatusText("2"), to: name("a"))
        #expect(watch.lines() == ["changed a 2"])
    }

    @Test("starts a stream with a gap that has exactly the missed events")
    func gap() throws {
        let crash = Crash()
        crash.save()
        let seen = crash.first.cursor
        try crash.post("1", to: "a")
        try crash.post("1", to: "b")
        try crash.post("2", to: "a")
        try crash.post("2", to: "a")
        let second = try crash.restart()
        #expect(try second.watch(.all, since: seen) { _ in }.lines() == ["gap 3", "snapshot -"])
        #expect(try second.watch(.all, updates: true, since: seen) { _ in }.lines().first == "gap 4")
        #expect(
            try second.watch(.server(name("b")), since: seen) { _ in }.lines() == ["gap 1", "snapshot b no status yet"])
    }

    @Test("makes no gap for a quiet server")
    func quiet() throws {
        let crash = Crash()
        crash.save()
        let seen = crash.first.cursor
        try crash.post("1", to: "a")
        let second = try crash.restart()
        let watch = try second.watch(.server(name("b")), since: seen) { _ in }
        #expect(watch.lines() == [])
        try second.post(try StatusText("2"), to: name("b"))
        #expect(watch.lines() == ["changed b 2"])
        #expect(try second.watch(.selected, since: seen) { _ in }.lines() == [])
    }

    @Test("tells a reader that has seen what was not saved that the state is an older one")
    func rolledBack() throws {
        let crash = Crash()
        try crash.post("1", to: "a")
        crash.save()
        try crash.post("2", to: "a")
        let seen = crash.first.cursor
        let second = try crash.restart()
        #expect(try second.watch(.server(name("a")), since: seen) { _ in }.lines() == ["gap 0", "snapshot a 1"])
        #expect(second.cursor.revision > seen.revision)
    }

    @Test("also tells it after further restarts, clean or not", arguments: [false, true])
    func rolledBackBefore(isClean: Bool) throws {
        let crash = Crash()
        try crash.post("1", to: "a")
        crash.save()
        try crash.post("2", to: "a")
        let seen = crash.first.cursor
        let second = try crash.restart()
        crash.save()
        let current = second.cursor
        let third = isClean ? try crash.restartCleanly() : try crash.restart()
        #expect(try third.watch(.server(name("a")), since: seen) { _ in }.lines() == ["gap -", "snapshot a 1"])
        #expect(try third.watch(.all, since: seen) { _ in }.lines() == ["gap -", "snapshot -"])
        #expect(try third.watch(.server(name("a")), since: current) { _ in }.lines() == [])
        let fourth = try crash.restartCleanly()
        #expect(try fourth.watch(.selected, since: seen) { _ in }.lines().first == "gap -")
        #expect(try fourth.watch(.server(name("a")), since: current) { _ in }.lines() == [])
    }

    @Test("makes a gap of what was lost also after a clean restart, unless the server was quiet")
    func lostBefore() throws {
        let crash = Crash()
        crash.save()
        let seen = crash.first.cursor
        try crash.post("1", to: "a")
        _ = try crash.restart()
        let third = try crash.restartCleanly()
        #expect(try third.watch(.server(name("a")), since: seen) { _ in }.lines().first == "gap -")
        #expect(try third.watch(.server(name("b")), since: seen) { _ in }.lines() == [])
    }

    @Test("tells every reader of many runs that were killed")
    func manyCrashes() throws {
        let crash = Crash()
        var (current, seen) = (crash.first, [ServerName: Cursor]())
        // In each run, another server has the event that is lost: later events of one server would make the gap by themselves.
        let servers = (1...40).map { name("a\($0)") }
        for server in servers { current.add(ServerDefinition(name: server, source: "push")) }
        crash.save()
        for server in servers {
            try current.post(try StatusText("lost"), to: server)
            seen[server] = current.cursor
            current = try crash.restart()
            crash.save()
        }
        let last = try crash.restartCleanly()
        for (server, cursor) in seen {
            #expect(try last.watch(.server(server), since: cursor) { _ in }.lines().first == "gap -")
        }
        #expect(try last.watch(.server(name("a")), since: last.cursor) { _ in }.lines() == [])
    }

    @Test("tells it also if an older state than that of the last start is continued with")
    func olderCopy() throws {
        let crash = Crash()
        try crash.post("1", to: "a")
        crash.save()
        let copy = crash.saved
        try crash.post("2", to: "a")
        crash.save()
        let second = try crash.restart()
        let seen = second.cursor
        crash.saved = copy
        let third = try crash.restart()
        #expect(try third.watch(.server(name("a")), since: seen) { _ in }.lines() == ["gap 0", "snapshot a 1"])
    }

    @Test("makes a gap of unknown length for a cursor that is older than the tally")
    func old() throws {
        let crash = Crash()
        let seen = crash.first.cursor
        for count in 1...5000 { try crash.post("\(count)", to: "a") }
        crash.save()
        let second = try crash.restart()
        #expect(try second.watch(.all, since: seen) { _ in }.lines() == ["gap -", "snapshot -"])
    }

    @Test("makes no gap for a reader that came after the restart")
    func later() throws {
        let crash = Crash()
        crash.save()
        try crash.post("1", to: "a")
        let second = try crash.restart()
        let seen = second.cursor
        #expect(try second.watch(.server(name("a")), since: seen) { _ in }.lines() == [])
        try second.post(try StatusText("2"), to: name("a"))
        #expect(try second.watch(.server(name("a")), since: seen) { _ in }.lines() == ["changed a 2"])
    }

    @Test("knows after a second crash what readers of both runs have missed")
    func secondCrash() throws {
        let crash = Crash()
        crash.save()
        let old = crash.first.cursor
        try crash.post("1", to: "a")
        try crash.post("1", to: "b")
        let second = try crash.restart()
        let seen = second.cursor
        try second.post(try StatusText("2"), to: name("a"))
        let third = try crash.restart()
        // The second run never had the status that was lost with the first one.
        #expect(try third.watch(.server(name("b")), since: seen) { _ in }.lines() == [])
        #expect(try third.watch(.server(name("a")), since: seen) { _ in }.lines().first == "gap 1")
        #expect(try third.watch(.server(name("a")), since: old) { _ in }.lines().first == "gap 2")
        #expect(try third.watch(.server(name("b")), since: old) { _ in }.lines().first == "gap 1")
    }

    @Test("counts what came after the restart and before the reader came back, too")
    func lateReaders() throws {
        let crash = Crash()
        crash.save()
        let seen = crash.first.cursor
        try crash.post("1", to: "a")
        let second = try crash.restart()
        try second.post(try StatusText("2"), to: name("a"))
        try second.post(try StatusText("1"), to: name("b"))
        #expect(try second.watch(.all, since: seen) { _ in }.lines() == ["gap 3", "snapshot -"])
        #expect(try second.watch(.server(name("a")), since: seen) { _ in }.lines() == ["gap 2", "snapshot a 2"])
        let watch = try second.watch(.server(name("a")), since: seen) { _ in }
        try second.post(try StatusText("3"), to: name("a"))
        #expect(watch.lines() == ["gap 3", "snapshot a 3"])
        for count in 1...8 { try second.post(try StatusText("\(count)"), to: name("b")) }
        #expect(try second.watch(.all, since: seen) { _ in }.lines() == ["gap -", "snapshot -"])
    }

    @Test("ignores a tally that is damaged")
    func damaged() {
        let memory = SharedMemory()
        for byte in [UInt8(0), 0x55, 0xff] {
            memory.fill(with: byte)
            #expect(memory.tally.read() == nil)
        }
        let monitor = StatusMonitor(tally: memory.tally)
        monitor.add(ServerDefinition(name: name("a"), source: "push"))
        #expect(memory.tally.read()?.latest == 1)
        // The kind of the first event.
        memory.set(200, at: 64 + 16 + 12)
        #expect(memory.tally.read() == nil)
    }
}
