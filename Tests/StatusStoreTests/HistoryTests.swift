// SPDX-License-Identifier: Apache-2.0

import SQLite
import StatusModel
import StatusMonitor
import StatusStore
import Testing

@Suite("The history")
struct HistoryTests {
    private let fixture: StoreFixture
    private let store: StatusStore

    init() throws {
        fixture = try StoreFixture()
        store = try fixture.openStore(at: 0)
    }

    private func save(_ changes: Change..., at time: Int64) throws { try store.save(batch(changes: changes, at: time)) }

    private func change(
        _ server: String, _ text: String, level: Level = .ok, at time: Int64, omitted: Int = 0, user: UInt32? = nil
    ) throws -> Change {
        Change(
            .changed, at: Timestamp(milliseconds: time), revision: Int(time),
            server: try state(server, text, level: level),
            omitted: omitted, user: user)
    }

    private func read(_ query: HistoryQuery) throws -> [Change] {
        var changes: [Change] = []
        var page: HistoryPage?
        repeat {
            page = try store.history(query, after: page) { false }
            changes += page?.changes ?? []
        } while page?.isLast == false
        return changes
    }

    private func texts(_ query: HistoryQuery) throws -> [String] {
        try read(query).map { "\($0.kind) \($0.server?.headline ?? "-")" }
    }

    @Test("has each change with its server, its cause and how long it lasted")
    func changes() throws {
        try save(
            try change("a", "1", at: 1000, omitted: 3, user: 7), try change("b", "2", level: .critical, at: 2000),
            at: 2000)
        try save(try change("a", "3", at: 5000), at: 5000)
        let changes = try read(HistoryQuery(server: name("a")))
        #expect(changes.map(\.at.milliseconds) == [1000, 5000])
        #expect(changes.map(\.lasted) == [4000, nil])
        #expect(changes[0].omitted == 3)
        #expect(changes[0].user == 7)
        #expect(changes[0].revision == 1000)
        #expect(try texts(HistoryQuery()) == ["started -", "changed 1", "changed 2", "changed 3"])
    }

    @Test("measures by the boot clock while the daemon runs, because the wall clock may be set")
    func clockSet() throws {
        var first = batch(changes: [try change("a", "1", at: 1000)], at: 1000)
        try store.save(first)
        // The clock was set back by an hour, and ten seconds have passed.
        first = batch(changes: [try change("a", "2", at: 11_000 - 3_600_000)], at: 11_000 - 3_600_000)
        first.log.notedAt = Moment(wall: Timestamp(milliseconds: 11_000 - 3_600_000), boot: .milliseconds(11_000))
        try store.save(first)
        #expect(try read(HistoryQuery(server: name("a"))).map(\.lasted) == [10_000, nil])
    }

    @Test(
        "measures nearly right if the clock is set before a change is saved",
        arguments: [-1_000_000_000_000, -60_000, 60_000, 1_000_000_000_000])
    func clockSetMeanwhile(by jump: Int64) throws {
        try save(try change("a", "1", at: 1000), at: 1000)
        var second = batch(changes: [try change("a", "2", at: 5000)], at: 5000)
        second.log.notedAt = Moment(wall: Timestamp(milliseconds: 5500 + jump), boot: .milliseconds(5500))
        try store.save(second)
        var third = batch(changes: [try change("a", "3", at: 9000 + jump)], at: 9000)
        third.log.notedAt = Moment(wall: Timestamp(milliseconds: 9000 + jump), boot: .milliseconds(9000))
        try store.save(third)
        let lasted = try read(HistoryQuery(server: name("a"))).compactMap(\.lasted)
        #expect(lasted.count == 2 && lasted.allSatisfy { (0...60_000 + 8000).contains($0) })
    }

    @Test("measures by the boot clock over a restart, and by the wall clock over a boot")
    func restarts() throws {
        try save(try change("a", "1", at: 1000), at: 1000)
        store.close()
        // The clock is set forward by an hour meanwhile.
        func restart(boot: String, sinceBoot: Int64) throws {
            let next = fixture.store(boot: boot)
            let now = Moment(wall: Timestamp(milliseconds: 3_605_000), boot: .milliseconds(sinceBoot))
            #expect(next.open(at: now).failure == nil)
            var last = batch(changes: [try change("a", boot, at: 3_605_000)], at: 3_605_000)
            last.log.notedAt = now
            try next.save(last)
            next.close()
        }
        try restart(boot: "this", sinceBoot: 5000)
        try restart(boot: "another", sinceBoot: 100)
        #expect(try read(HistoryQuery(server: name("a"))).map(\.lasted) == [4000, 0, nil])
    }

    @Test("comes in pages that take little memory, however long the texts are")
    func longTexts() throws {
        let text = String(repeating: "x", count: 1000)
        for number in 0..<100 { try save(try change("a", text + "\(number)", at: Int64(number)), at: Int64(number)) }
        var (found, page) = ([String](), HistoryPage?.none)
        repeat {
            let next = try store.history(HistoryQuery(server: name("a")), after: page) { false }
            #expect(next.changes.count < 40)
            found += next.changes.compactMap { $0.server?.status?.text.rawValue }
            page = next
        } while page?.isLast == false
        #expect(found == (0..<100).map { text + "\($0)" })
    }

    @Test("can be limited to a time, to a level or worse, and to the newest")
    func filters() throws {
        for (index, level) in [Level.ok, .warning, .unknown, .critical].enumerated() {
            try save(try change("a", level.rawValue, level: level, at: Int64(index) * 1000), at: 0)
        }
        let time = { (milliseconds: Int64) in Timestamp(milliseconds: milliseconds) }
        #expect(
            try texts(HistoryQuery(server: name("a"), since: time(1000), until: time(2000))) == [
                "changed warning", "changed unknown",
            ])
        #expect(try texts(HistoryQuery(level: .unknown)) == ["changed unknown", "changed critical"])
        #expect(try texts(HistoryQuery(server: name("a"), limit: 2)) == ["changed unknown", "changed critical"])
        #expect(try texts(HistoryQuery(server: name("a"), level: .warning, limit: 9)).count == 3)
        #expect(try texts(HistoryQuery(limit: 0)) == [])
        #expect(try texts(HistoryQuery(server: name("c"))) == [])
    }

    @Test("is read in pages, without those that came meanwhile")
    func pages() throws {
        try store.save(batch(changes: try (0..<600).map { try change("a", "\($0)", at: $0) }))
        let first = try store.history(HistoryQuery(server: name("a")), after: nil) { false }
        #expect(first.changes.count == 128)
        try save(try change("a", "new", at: 700), at: 700)
        var (count, page) = (first.changes.count, first)
        while !page.isLast {
            page = try store.history(HistoryQuery(server: name("a")), after: page) { false }
            count += page.changes.count
        }
        #expect(count == 600)
        #expect(page.changes.last?.server?.headline == "599")
    }

    @Test("keeps the newest, and those that are young enough, and is pruned in steps")
    func pruning() throws {
        try store.save(batch(changes: try (1...1200).map { try change("a", "\($0)", at: $0) }))
        var steps = 0
        while try store.prune(before: Timestamp(milliseconds: 0), keeping: 100) { steps += 1 }
        #expect(steps == 2)
        #expect(try texts(HistoryQuery()).first == "changed 1101")
        #expect(try store.prune(before: Timestamp(milliseconds: 1150), keeping: 100) == false)
        #expect(try texts(HistoryQuery()).first == "changed 1150")
    }

    @Test("notes when the daemon ran, also if it was killed")
    func lives() throws {
        try save(try change("a", "1", at: 5000), at: 5000)
        _ = fixture.store().open(at: moment(9000))
        #expect(
            try read(HistoryQuery()).map { "\($0.kind) \($0.at.milliseconds)" } == [
                "started 0", "changed 5000", "stopped 5000", "started 9000",
            ])
    }

    @Test("has the states with which a killed daemon is continued, also those whose entries it lacks")
    func completed() throws {
        let servers = try ["changed", "new", "same"].map { stored(try state($0, "down", level: .critical, at: 3000)) }
        var last = batch(
            servers,
            changes: [try change("changed", "up", at: 1000), try change("same", "down", level: .critical, at: 1500)],
            at: 4000, revision: 7)
        last.changes.append(try change("removed", "up", at: 2000))
        try store.save(last)
        for _ in 0..<2 {
            let next = fixture.store()
            _ = next.open(at: moment(9000))
            try next.checkHistory()
            #expect(
                try read(HistoryQuery()).prefix(8).map {
                    "\($0.kind) \($0.server?.name.rawValue ?? "-") \($0.at.milliseconds)"
                } == [
                    "started - 0", "changed changed 1000", "changed same 1500", "changed removed 2000",
                    "changed changed 3000", "changed new 3000", "removed removed 4000", "stopped - 4000",
                ])
        }
        let removal = try read(HistoryQuery(server: name("removed"))).last
        #expect(removal?.kind == .removed)
    }

    @Test("notes the end of a run that was killed before it saved anything, at its beginning")
    func shortLives() throws {
        for time: Int64 in [1000, 2000] { _ = fixture.store().open(at: moment(time)) }
        #expect(
            try read(HistoryQuery()).map { "\($0.kind) \($0.at.milliseconds)" } == [
                "started 0", "stopped 0", "started 1000", "stopped 1000", "started 2000",
            ])
    }

    @Test("returns the space of what was removed to the file system")
    func shrinking() throws {
        try store.save(batch(changes: try (1...2000).map { try change("a", "\($0)", at: $0) }))
        let database = try Database(path: fixture.path)
        func pages() throws -> Int64 {
            let statement = try database.statement("PRAGMA page_count")
            defer { statement.reset() }
            return try statement.step() ? statement.integer(0) ?? 0 : 0
        }
        let before = try pages()
        while try store.prune(before: Timestamp(milliseconds: 0), keeping: 10) {}
        #expect(try pages() < before / 2)
    }

    @Test("ends a call that is cancelled")
    func cancelling() throws {
        try store.save(batch(changes: try (0..<2000).map { try change("a", "\($0)", at: $0) }))
        #expect(throws: StoreFailure.self) { try store.history(HistoryQuery(level: .critical), after: nil) { true } }
        #expect(try store.history(HistoryQuery(level: .critical), after: nil) { false }.changes.isEmpty)
    }
}

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

    @Test("counts the times by the boot clock, whenever the wall clock was set")
    func clocks() throws {
        // On two boots, the clock is a while ahead, or behind.
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
        // It is set when there are no more entries.
        let summary = try second.summary(
            of: name("a"), since: Timestamp(milliseconds: 0), until: Timestamp(milliseconds: 20_000), buckets: 1,
            now: Moment(wall: Timestamp(milliseconds: 19_000), boot: .milliseconds(9000))
        ) { false }
        #expect(Level.allCases.map { summary.times[$0] } == [1000 + 1000 + 2000, 7000, 2000, 0])
        #expect(summary.times[nil] == 20_000 - 13_000)
    }

    @Test(
        "counts changes that were left out, and staleness without a status as unknown, but no server that was only added"
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

    @Test("has the time in each level, the worst one and the number of changes, for each bucket")
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

    @Test("ends with the last of the changes that came in one millisecond")
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

    @Test("knows the level of a server whose entries were all removed, from the last of them on")
    func pruned() throws {
        let store = try fixture.openStore(at: 0)
        try save(store, .ok, at: 1000)
        try save(store, .warning, at: 2000)
        try save(store, .critical, at: 5000)
        try prune(store, before: 3000)
        let whole = try summary(store, until: 10_000)
        #expect(Level.allCases.map { whole.times[$0] } == [0, 3000, 5000, 0])
        #expect(whole.times[nil] == 2000)
        #expect(whole.changes == 1)
        #expect(try summary(store, since: 2500, until: 5000).times.warning == 2500)
        try prune(store, keeping: 1)
        #expect(try summary(store, since: 6000, until: 10_000).times.critical == 4000)
        try prune(store, before: 9000)
        #expect(try summary(store, since: 6000, until: 10_000).times.critical == 4000)
        // A later run does not count as one that never began.
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
        // The clock of the other boot begins anew.
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

    @Test("begins with the servers as they are, if the history has nothing of them")
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

    @Test("begins with the level of before, and counts no time in which the daemon did not run")
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

    @Test("knows no level of the future")
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
