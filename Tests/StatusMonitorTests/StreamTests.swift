// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusMonitor
import Synchronization
import Testing

@Suite("Streams") struct StreamTests {
    @Test("invariant 1: the line that selects a server carries its whole state, and no line of the old one follows")
    func switchIsAtomic() throws {
        let fixture = MonitorFixture()
        try fixture.post("a 1", to: "a")
        try fixture.post("b 1", to: "b")
        try fixture.monitor.select(name("a"))
        let watch = try fixture.watch()
        #expect(watch.lines() == ["snapshot a a 1"])
        try fixture.post("a 2", to: "a")
        #expect(watch.lines() == ["changed a a 2"])
        try fixture.monitor.select(name("b"))
        try fixture.post("a 3", to: "a")
        try fixture.post("b 2", to: "b")
        #expect(watch.lines() == ["selected b b 1", "changed b b 2"])
    }

    @Test("invariant 1: unwritten events of the old server are never written once the selection has moved")
    func supersededIsNotWritten() throws {
        let fixture = MonitorFixture()
        try fixture.monitor.select(name("a"))
        let watch = try fixture.watch()
        #expect(watch.lines() == ["snapshot a no status yet"])
        try fixture.post("a 1", to: "a")
        try fixture.post("a 2", to: "a")
        try fixture.monitor.select(name("b"))
        #expect(watch.lines() == ["gap 3", "snapshot b no status yet"])
        try fixture.post("b 1", to: "b")
        #expect(watch.lines() == ["changed b b 1"])
    }

    @Test("invariant 5: selections that are followed by others at once are not a gap")
    func passingSelections() throws {
        let fixture = MonitorFixture()
        try fixture.monitor.select(name("a"))
        let watch = try fixture.watch()
        #expect(watch.lines() == ["snapshot a no status yet"])
        try fixture.monitor.remove(name("a"))
        try fixture.monitor.select(name("b"))
        #expect(watch.lines() == ["selected b no status yet"])
        try fixture.monitor.select(nil)
        try fixture.monitor.select(name("b"))
        try fixture.post("b 1", to: "b")
        #expect(watch.lines() == ["selected b no status yet", "changed b b 1"])
        try fixture.monitor.select(nil)
        try fixture.monitor.select(name("b"))
        try fixture.post("b 2", to: "b")
        try fixture.monitor.select(nil)
        #expect(watch.lines() == ["gap 3", "snapshot -"])
    }

    @Test("invariant 4: revisions of a stream grow, without repeats, in the order of the log")
    func oneOrder() throws {
        let fixture = MonitorFixture()
        let watch = try fixture.watch(.all)
        _ = watch.next()
        for round in 0..<10 {
            try fixture.post("a \(round)", to: "a")
            try fixture.monitor.select(name(round.isMultiple(of: 2) ? "a" : "b"))
            try fixture.post("b \(round)", to: "b")
        }
        var revisions: [Int] = []
        while let event = watch.next() { revisions.append(event.cursor.revision) }
        #expect(revisions == Array(3...32))
    }

    @Test("invariant 5: a reader that is too slow gets the number of missed events, then a snapshot, and continues")
    func slowReaderGetsGap() throws {
        let fixture = MonitorFixture(capacities: 8...8)
        let watch = try fixture.watch(.server(name("a")))
        #expect(watch.lines() == ["snapshot a no status yet"])
        for round in 1...20 { try fixture.post("a \(round)", to: "a") }
        #expect(watch.lines() == ["gap 20", "snapshot a a 20"])
        try fixture.post("a 21", to: "a")
        #expect(watch.lines() == ["changed a a 21"])
    }

    @Test("invariant 5: a reader that falls behind for a while misses nothing, because the log keeps more for it")
    func lateReaderMissesNothing() throws {
        let fixture = MonitorFixture(capacities: 8...32)
        let watch = try fixture.watch(.server(name("a")))
        _ = watch.lines()
        for round in 1...30 { try fixture.post("a \(round)", to: "a") }
        #expect(watch.lines() == (1...30).map { "changed a a \($0)" })
        for round in 31...50 {
            try fixture.post("a \(round)", to: "a")
            #expect(watch.lines() == ["changed a a \(round)"])
        }
        let revision = try fixture.monitor.state(of: name("a")).revision
        func lines(since: Int) throws -> [String] { try fixture.watch(.server(name("a")), since: since).lines() }
        #expect(try lines(since: revision - 8).count == 8)
        #expect(try lines(since: revision - 9) == ["gap -", "snapshot a a 50"])
        for round in 51...90 { try fixture.post("a \(round)", to: "a") }
        #expect(watch.lines() == ["gap 40", "snapshot a a 90"])
    }

    @Test("invariant 5: a reader that reads when overdue misses nothing, however much is posted at once")
    func overdueReaderMissesNothing() throws {
        let fixture = MonitorFixture(capacities: 32...32)
        let reader = OverdueReader()
        reader.watch = try fixture.watch(.server(name("a"))) { if $0 == .overdue { reader.read() } }
        reader.read()
        for round in 1...100 {
            try fixture.post("a \(round)", to: "a")
            for _ in 1...3 { try fixture.post("b \(round)", to: "b") }
        }
        reader.read()
        #expect(reader.lines == ["snapshot a no status yet"] + (1...100).map { "changed a a \($0)" })
    }

    @Test(
        "invariant 5: a reader that reads when overdue misses nothing if more servers go stale than the log holds"
    )
    func staleAtOnce() throws {
        let fixture = MonitorFixture(servers: [], capacities: 8...8)
        let names = (10..<60).map { "server-\($0)" }
        for server in names {
            fixture.monitor.add(ServerDefinition(name: name(server), source: "push", timeToLive: .seconds(1)))
            try fixture.post("up", to: server)
        }
        let reader = OverdueReader()
        reader.watch = try fixture.watch(.all) { if $0 == .overdue { reader.read() } }
        reader.read()
        fixture.advance(by: 1_000)
        fixture.monitor.expire()
        reader.read()
        #expect(reader.lines.dropFirst().sorted() == names.map { "changed \($0) up" })
    }

    @Test("invariant 5: a quiet server causes no gap, however much the others post")
    func quietServerHasNoGap() throws {
        let fixture = MonitorFixture(capacities: 8...8)
        let watch = try fixture.watch(.server(name("a")))
        _ = watch.lines()
        for round in 1...100 { try fixture.post("b \(round)", to: "b") }
        try fixture.post("a 1", to: "a")
        for round in 101...104 { try fixture.post("b \(round)", to: "b") }
        #expect(watch.lines() == ["changed a a 1"])
        try fixture.post("a 2", to: "a")
        for round in 1...100 { try fixture.post("b again \(round)", to: "b") }
        #expect(watch.lines() == ["gap 1", "snapshot a a 2"])
    }

    @Test("invariant 5: changes before a stream's first line are in its snapshot, and are not a gap")
    func beginsWithSnapshot() throws {
        let fixture = MonitorFixture(capacities: 8...8)
        try fixture.monitor.select(name("a"))
        let superseded = try fixture.watch()
        let overrun = try fixture.watch(.server(name("a")))
        try fixture.post("a 1", to: "a")
        try fixture.monitor.select(name("b"))
        for round in 2...20 { try fixture.post("a \(round)", to: "a") }
        #expect(superseded.lines() == ["snapshot b no status yet"])
        #expect(overrun.lines() == ["snapshot a a 20"])
    }

    @Test(
        "invariant 5: the selection of a server is not a gap for readers of that server alone",
        arguments: [false, true])
    func selectionIsNoGap(updates: Bool) throws {
        let fixture = MonitorFixture(capacities: 8...8)
        try fixture.post("a 1", to: "a")
        let revision = try fixture.monitor.state(of: name("a")).revision
        try fixture.monitor.select(name("a"))
        try fixture.monitor.select(name("b"))
        for round in 1...20 { try fixture.post("b \(round)", to: "b") }
        #expect(try fixture.watch(.server(name("a")), updates: updates, since: revision).lines() == [])
    }

    @Test(
        "invariant 5: a client that disconnects between a foreign cursor's gap and the snapshot gets the gap again"
    )
    func foreignGapAgain() throws {
        let fixture = MonitorFixture()
        let gap = try fixture.watch(since: 7, epoch: .random()).next()
        #expect(gap?.kind == .gap)
        let again = try fixture.watch(since: try #require(gap?.cursor.revision))
        #expect(again.lines() == ["gap -", "snapshot -"])
    }

    @Test(
        "invariant 5: repeated posts are not a gap for readers that want no updates",
        arguments: [WatchTarget.all, .selected])
    func updatesAreNoGap(target: WatchTarget) throws {
        let fixture = MonitorFixture(capacities: 8...8)
        try fixture.monitor.select(name("a"))
        try fixture.post("up", to: "a")
        let revision = try fixture.monitor.state(of: name("a")).revision
        for _ in 1...20 { try fixture.post("up", to: "a") }
        #expect(try fixture.watch(target, since: revision).lines() == [])
    }

    @Test("invariant 5: everything lost between a gap and its snapshot is counted")
    func gapAfterGap() throws {
        let fixture = MonitorFixture(capacities: 8...8)
        let watch = try fixture.watch(.server(name("a")))
        _ = watch.next()
        for round in 1...20 { try fixture.post("a \(round)", to: "a") }
        #expect(watch.next()?.missed == 20)
        try fixture.post("a 21", to: "a")
        #expect(watch.lines() == ["gap 1", "snapshot a a 21"])
    }

    @Test("invariant 7: the same text and level again is an event only for readers that want updates")
    func eventIsChange() throws {
        let fixture = MonitorFixture()
        let changes = try fixture.watch(.all)
        let updates = try fixture.watch(.all, updates: true)
        _ = (changes.next(), updates.next())
        try fixture.post("up", to: "a")
        fixture.advance(by: 5000)
        try fixture.post("up", to: "a")
        #expect(changes.lines() == ["changed a up"])
        #expect(updates.lines() == ["changed a up", "updated a up"])
        let status = try #require(try fixture.monitor.state(of: name("a")).status)
        #expect(status.updatedAt.milliseconds - status.changedAt.milliseconds == 5000)
        try fixture.post("up", to: "a", level: .warning)
        #expect(changes.lines() == ["changed a up"])
    }

    @Test("a reader is woken once when there is something to read, and again only after it has read everything")
    func wakesOnce() throws {
        let fixture = MonitorFixture()
        let counter = Counter()
        let watch = try fixture.watch(.server(name("a"))) { _ in counter.increment() }
        _ = watch.lines()
        try fixture.post("1", to: "a")
        try fixture.post("2", to: "a")
        try fixture.post("b", to: "b")
        #expect(counter.value == 1)
        _ = watch.lines()
        try fixture.post("3", to: "a")
        #expect(counter.value == 2)
    }

    @Test("a watch of an unknown server is refused, and one that is released is removed")
    func lifetime() throws {
        let fixture = MonitorFixture()
        #expect(throws: LedgerError.noSuchServer(name("c"))) { try fixture.watch(.server(name("c"))) }
        var watch: Watch? = try fixture.watch()
        #expect(fixture.monitor.watchCount == 1)
        _ = watch?.next()
        watch = nil
        #expect(fixture.monitor.watchCount == 0)
    }
}

/// Counts calls from any thread.
final class Counter: Sendable {
    private let count = Mutex(0)
    var value: Int { count.withLock { $0 } }
    func increment() { count.withLock { $0 += 1 } }
}

/// A reader that is called on the test's thread, during posts.
private final class OverdueReader: @unchecked Sendable {
    var watch: Watch?
    private(set) var lines: [String] = []

    func read() { lines += watch?.lines() ?? [] }
}
