// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusMonitor
import StatusStore
import Testing

@Suite("A summary")
struct SummaryTests {
    private let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    private func summary(
        _ store: StatusStore, since: Int64 = 0, until: Int64, buckets: Int = 1, now: Int64 = 1_000_000_000
    ) throws -> StatusSummary {
        try store.summary(
            of: name("a"), since: Timestamp(milliseconds: since), until: Timestamp(milliseconds: until),
            buckets: buckets, now: moment(now)
        ) { false }
    }

    private func save(
        _ store: StatusStore, _ level: Level, at time: Int64, stale: Bool = false, omitted: Int = 0, ahead: Int64 = 0
    ) throws {
        var state = try state("a", level.rawValue, level: level)
        state.isStale = stale
        let wall = Timestamp(milliseconds: time + ahead)
        var batch = batch(changes: [Change(.changed, at: wall, revision: 0, server: state, omitted: omitted)])
        batch.log.notedAt = Moment(wall: wall, boot: .milliseconds(time))
        try store.save(batch)
    }

    @Test("counts times by the boot clock, whenever the wall clock was set")
    func clocks() throws {
        // On two boots, the wall clock is ahead or behind for a while.
        let store = fixture.store(boot: "1")
        _ = store.open(at: Moment(wall: Timestamp(milliseconds: 9000), boot: .zero))
        try save(store, .ok, at: 1000, ahead: 9000)
        try save(store, .critical, at: 2000, ahead: 30_000)
        try save(store, .ok, at: 4000, ahead: 0)
        try store.save(batch(changes: [Change(.stopped, at: Timestamp(milliseconds: 5000), revision: 0)], at: 5000))
        store.close()
        let second = fixture.store(boot: "2")
        _ = second.open(at: Moment(wall: Timestamp(milliseconds: 100), boot: .zero))
        try save(second, .warning, at: 2000, ahead: 100)
        // The clock is set after the last entry.
        let summary = try second.summary(
            of: name("a"), since: Timestamp(milliseconds: 0), until: Timestamp(milliseconds: 20_000), buckets: 1,
            now: Moment(wall: Timestamp(milliseconds: 19_000), boot: .milliseconds(9000))
        ) { false }
        #expect(Level.allCases.map { summary.times[$0] } == [1000 + 1000 + 2000, 7000, 2000, 0])
        #expect(summary.times[nil] == 20_000 - 13_000)
    }

    @Test(
        "counts no time after a power failure, however long the machine was off",
        arguments: [3_595_000, 10_000] as [Int64])
    func powerFailure(off: Int64) throws {
        let store = fixture.store(boot: "1")
        _ = store.open(at: moment(0))
        try save(store, .ok, at: 5000)
        let second = fixture.store(boot: "2")
        let now = Moment(wall: Timestamp(milliseconds: 5000 + off), boot: .seconds(1))
        _ = second.open(at: now)
        #expect(try summary(second, until: 5000 + off).times.ok == 0)
    }

    @Test(
        "counts changes left out, and staleness without a status as unknown, but no server that was only added"
    )
    func kinds() throws {
        let store = try fixture.openStore(at: 0)
        try save(store, .ok, at: 1000, omitted: 6)
        var failed = ServerState(name: name("a"), source: "exec", phase: .failed)
        try store.save(
            batch(changes: [Change(.added, at: Timestamp(milliseconds: 2000), revision: 0, server: failed)], at: 2000))
        failed.phase = .empty
        failed.isStale = true
        try store.save(
            batch(changes: [Change(.changed, at: Timestamp(milliseconds: 3000), revision: 0, server: failed)], at: 3000)
        )
        let summary = try summary(store, until: 10_000)
        #expect(summary.changes == 8)
        #expect(summary.times.unknown == 8000)
    }

    @Test("has, for each bucket, the time in each level, the worst level and the number of changes")
    func buckets() throws {
        let store = try fixture.openStore(at: 0)
        try save(store, .ok, at: 1000)
        try save(store, .critical, at: 5000)
        try save(store, .warning, at: 5500)
        try save(store, .ok, at: 9000, stale: true)
        let summary = try summary(store, until: 10_000, buckets: 2)
        #expect(summary.buckets.map(\.start.milliseconds) == [0, 5000])
        #expect(summary.buckets.map(\.worst) == [.ok, .critical])
        #expect(summary.buckets.map(\.changes) == [1, 3])
        #expect(summary.buckets[0].times[nil] == 1000)
        #expect(summary.buckets[0].times.ok == 4000)
        #expect(Level.allCases.map { summary.times[$0] } == [4000, 3500, 500, 1000])
        #expect(summary.times.availability == 7500.0 / 9000)
    }

    @Test("ends with the last of several changes in one millisecond")
    func ties() throws {
        let store = try fixture.openStore(at: 0)
        for level in [Level.ok, .critical, .warning, .critical, .ok] { try save(store, level, at: 1000) }
        let summary = try summary(store, until: 10_000)
        #expect(summary.times.ok == 9000)
        #expect(summary.buckets.map(\.changes) == [5])
        #expect(summary.buckets.map(\.worst) == [.critical])
    }

    private func prune(_ store: StatusStore, before time: Int64 = 0, keeping changes: Int = 100_000) throws {
        while try store.prune(before: Timestamp(milliseconds: time), keeping: changes) {}
    }

    @Test("counts nothing before the entries that were removed as known, for each server by itself")
    func prunedByShare() throws {
        let store = try fixture.openStore(at: 0)
        func save(_ server: String, _ level: Level, at time: Int64) throws {
            let change = Change(
                .changed, at: Timestamp(milliseconds: time), revision: 0,
                server: try state(server, "\(time)", level: level))
            try store.save(batch(changes: [change], at: time))
        }
        try save("db", .critical, at: 1000)
        for time in Int64(2)...1000 { try save("a", time.isMultiple(of: 2) ? .ok : .warning, at: time * 1000) }
        try prune(store, keeping: 13)
        let quiet = try store.summary(
            of: name("db"), since: Timestamp(milliseconds: 0), until: Timestamp(milliseconds: 1_000_000), buckets: 1,
            now: moment(1_000_000)
        ) { false }
        #expect(quiet.times.critical == 999_000)
        #expect(quiet.times.availability == 0)
        let chatty = try store.summary(
            of: name("a"), since: Timestamp(milliseconds: 0), until: Timestamp(milliseconds: 1_000_000), buckets: 1,
            now: moment(1_000_000)
        ) { false }
        #expect(chatty.knownSince == Timestamp(milliseconds: 989_000))
        #expect(chatty.times.known == 11_000)
    }

    @Test("says when the history of a server that was added later begins")
    func addedLater() throws {
        let store = try fixture.openStore(at: 0)
        try save(store, .ok, at: 6000)
        #expect(try summary(store, until: 10_000).knownSince == Timestamp(milliseconds: 6000))
        #expect(try summary(store, since: 6000, until: 10_000).knownSince == nil)
    }

    @Test("knows the level of a server whose entries were all removed, from the last removed entry on")
    func pruned() throws {
        let store = try fixture.openStore(at: 0)
        try save(store, .ok, at: 1000)
        try save(store, .warning, at: 2000)
        try save(store, .critical, at: 5000)
        try prune(store, before: 3000)
        let whole = try summary(store, until: 10_000)
        #expect(Level.allCases.map { whole.times[$0] } == [0, 3000, 5000, 0])
        #expect(whole.times[nil] == 2000)
        #expect(whole.knownSince == Timestamp(milliseconds: 2000))
        #expect(whole.changes == 1)
        let part = try summary(store, since: 2500, until: 5000)
        #expect(part.times.warning == 2500)
        #expect(part.knownSince == nil)
        try prune(store, keeping: 1)
        #expect(try summary(store, since: 6000, until: 10_000).times.critical == 4000)
        try prune(store, before: 9000)
        #expect(try summary(store, since: 6000, until: 10_000).times.critical == 4000)
        // A later run must count as one that has begun.
        store.close()
        let second = try fixture.openStore(at: 20_000)
        #expect(try summary(second, since: 20_000, until: 30_000).times.critical == 10_000)
    }

    @Test("tells the boots apart after a history that was emptied")
    func emptied() throws {
        let before = fixture.store(boot: "0")
        _ = before.open(at: moment(0))
        for time in [100, 200, 300] as [Int64] { try save(before, .ok, at: time) }
        before.close()
        let store = fixture.store(boot: "1")
        _ = store.open(at: moment(500))
        try save(store, .ok, at: 1000)
        try prune(store, keeping: 0)
        var first = batch([stored(try state("a", "x"))], at: 3500)
        first.beginsHistory = true
        try store.save(first)
        try save(store, .critical, at: 4000)
        try save(store, .ok, at: 6000)
        try store.save(batch(changes: [Change(.stopped, at: Timestamp(milliseconds: 7000), revision: 0)], at: 7000))
        store.close()
        // The clock of the other boot begins at zero again.
        let second = fixture.store(boot: "2")
        _ = second.open(at: Moment(wall: Timestamp(milliseconds: 9000), boot: .zero))
        let summary = try second.summary(
            of: name("a"), since: Timestamp(milliseconds: 0), until: Timestamp(milliseconds: 10_000), buckets: 1,
            now: Moment(wall: Timestamp(milliseconds: 10_000), boot: .milliseconds(1000))
        ) { false }
        #expect(Level.allCases.map { summary.times[$0] } == [500 + 1000 + 1000, 0, 2000, 0])
        #expect(summary.changes == 2)
    }

    @Test("forgets the level, and the names, when the history is turned off, because it may change unnoticed")
    func turnedOff() throws {
        let store = try fixture.openStore(at: 0)
        try save(store, .ok, at: 1000)
        try prune(store, keeping: 0)
        #expect(try summary(store, until: 10_000).times.known == 0)
        #expect(try Database(path: fixture.path).count("names") == 0)
    }

    @Test("begins with the current states of the servers if the history is empty")
    func begins() throws {
        let store = try fixture.openStore(at: 0)
        for time in [4000, 6000] as [Int64] {
            var batch = batch([stored(try state("a", "x", level: .warning))], at: time)
            batch.beginsHistory = true
            try store.save(batch)
        }
        try save(store, .ok, at: 9000)
        let summary = try summary(store, until: 10_000)
        #expect(Level.allCases.map { summary.times[$0] } == [1000, 5000, 0, 0])
        #expect(summary.changes == 1)
    }

    @Test("removes the names of servers that were removed, once nothing else is left of them")
    func names() throws {
        let store = try fixture.openStore(at: 0)
        try save(store, .ok, at: 1000)
        let removal = Change(
            .removed, at: Timestamp(milliseconds: 2000), revision: 0, server: try state("a", "x"))
        try store.save(batch(changes: [removal], at: 2000))
        try prune(store, before: 1500)
        #expect(try Database(path: fixture.path).count("names") == 1)
        try prune(store, before: 2500)
        #expect(try Database(path: fixture.path).count("names") == 0)
        try save(store, .ok, at: 3000)
        #expect(try summary(store, since: 3000, until: 4000).times.ok == 1000)
    }

    @Test("begins with the level from before the period, and counts no time in which the daemon did not run")
    func downtime() throws {
        let store = try fixture.openStore(at: 0)
        try save(store, .ok, at: 1000)
        try store.save(batch(changes: [Change(.stopped, at: Timestamp(milliseconds: 4000), revision: 0)], at: 4000))
        _ = fixture.store().open(at: moment(4000))
        let second = fixture.store()
        _ = second.open(at: moment(7000))
        let summary = try summary(second, since: 2000, until: 10_000)
        #expect(summary.times.ok == 5000)
        #expect(summary.times[nil] == 3000)
    }

    @Test("has no level for future times")
    func future() throws {
        let store = try fixture.openStore(at: 0)
        try save(store, .ok, at: 1000)
        let summary = try summary(store, until: 10_000, buckets: 5, now: 5000)
        #expect(summary.times.ok == 4000)
        #expect(summary.times[nil] == 6000)
        #expect(summary.buckets.map(\.worst) == [.ok, .ok, .ok, nil, nil])
        #expect(try self.summary(store, since: 8000, until: 10_000, now: 5000).times[nil] == 2000)
    }

    @Test("covers the period exactly, whatever the number of buckets")
    func rounding() throws {
        let store = try fixture.openStore(at: 0)
        try save(store, .ok, at: 0)
        for buckets in [1, 3, 7, 999, 1000] {
            let summary = try summary(store, until: 1001, buckets: buckets)
            #expect(summary.buckets.count == buckets)
            #expect(summary.times.ok == 1001)
        }
        #expect(try self.summary(store, since: 5, until: 5, buckets: 3).times.known == 0)
    }
}

extension Database {
    fileprivate func count(_ table: String) throws -> Int64? {
        let statement = try statement("SELECT count(*) FROM \(table)")
        defer { statement.reset() }
        return try statement.step() ? statement.integer(0) : nil
    }
}
