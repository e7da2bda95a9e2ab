// SPDX-License-Identifier: Apache-2.0

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

    /// A change of a server whose level changes each time, with the time as its text.
    private func flap(_ server: String = "a", at time: Int64) throws -> Change {
        try change(server, "\(time)", level: time.isMultiple(of: 2) ? .ok : .warning, at: time)
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

    @Test("contains each change with its server, cause and duration")
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

    @Test("measures durations by the boot clock while the daemon runs, because the wall clock may be set")
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
        "measures durations nearly correctly if the clock is set before a change is saved",
        arguments: [-1_000_000_000_000, -60_000, 60_000, 1_000_000_000_000])
    func clockSetMeanwhile(by jump: Int64) throws {
        try save(try change("a", "1", at: 1000), at: 1000)
        var second = batch(changes: [try change("a", "2", level: .warning, at: 5000)], at: 5000)
        second.log.notedAt = Moment(wall: Timestamp(milliseconds: 5500 + jump), boot: .milliseconds(5500))
        try store.save(second)
        var third = batch(changes: [try change("a", "3", at: 9000 + jump)], at: 9000)
        third.log.notedAt = Moment(wall: Timestamp(milliseconds: 9000 + jump), boot: .milliseconds(9000))
        try store.save(third)
        let lasted = try read(HistoryQuery(server: name("a"))).compactMap(\.lasted)
        #expect(lasted.count == 2 && lasted.allSatisfy { (0...60_000 + 8000).contains($0) })
    }

    @Test("measures durations by the boot clock over a restart, and by the wall clock over a boot")
    func restarts() throws {
        try save(try change("a", "1", at: 1000), at: 1000)
        store.close()
        // The clock is set forward by an hour meanwhile.
        func restart(boot: String, sinceBoot: Int64) throws {
            let next = fixture.store(boot: boot)
            let now = Moment(wall: Timestamp(milliseconds: 3_605_000), boot: .milliseconds(sinceBoot))
            #expect(next.open(at: now).failure == nil)
            let level = boot == "this" ? Level.warning : .ok
            var last = batch(changes: [try change("a", boot, level: level, at: 3_605_000)], at: 3_605_000)
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
        for number in 0..<100 {
            let time = Int64(number) * 60_000
            try save(try change("a", text + "\(number)", at: time), at: time)
        }
        var (found, page) = ([String](), HistoryPage?.none)
        repeat {
            let next = try store.history(HistoryQuery(server: name("a")), after: page) { false }
            #expect(next.changes.count < 40)
            found += next.changes.compactMap { $0.server?.status?.text.rawValue }
            page = next
        } while page?.isLast == false
        #expect(found == (0..<100).map { text + "\($0)" })
    }

    @Test("can be limited to a period, to a level or worse, and to the newest entries")
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

    @Test("can be read without selections, which then do not count among the newest entries")
    func withoutSelections() throws {
        try save(try change("a", "up", at: 1000), at: 1000)
        for time in [2000, 3000] as [Int64] {
            try save(
                Change(.selected, at: Timestamp(milliseconds: time), revision: 1, server: try state("a", "up")),
                at: time)
        }
        #expect(try texts(HistoryQuery(server: name("a"), limit: 1)) == ["selected up"])
        #expect(try texts(HistoryQuery(server: name("a"), limit: 1, selections: false)) == ["changed up"])
        #expect(try texts(HistoryQuery(selections: false)) == ["started -", "changed up"])
    }

    @Test("is read in pages, without entries that came meanwhile")
    func pages() throws {
        try store.save(batch(changes: try (0..<600).map { try flap(at: $0) }))
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

    @Test("keeps the newest entries and entries that are young enough, and is pruned in steps")
    func pruning() throws {
        try store.save(batch(changes: try (1...1200).map { try flap(at: $0) }))
        var steps = 0
        while try store.prune(before: Timestamp(milliseconds: 0), keeping: 100) { steps += 1 }
        #expect(steps == 3)
        #expect(try texts(HistoryQuery(limit: 99)).first == "changed 1102")
        while try store.prune(before: Timestamp(milliseconds: 1150), keeping: 100) {}
        #expect(try texts(HistoryQuery()).first == "changed 1150")
    }

    @Test("of changes of text at one level, it keeps the first, the last and one a minute, and counts the others")
    func thinning() throws {
        try save(try change("a", "up", level: .warning, at: 0), at: 0)
        for second in Int64(1)...130 {
            let time = second * 1000
            try save(try change("a", "\(second)", at: time), at: time)
            // Another server has no part in it, and neither has a selection.
            try save(
                Change(.selected, at: Timestamp(milliseconds: time), revision: 0, server: try state("a", "x")), at: time
            )
            if second == 20 { try save(try change("b", "other", at: time), at: time) }
        }
        try save(try change("a", "down", level: .critical, at: 131_000), at: 131_000)
        let changes = try read(HistoryQuery(server: name("a"))).filter { $0.kind == .changed }
        #expect(changes.map { $0.server?.headline } == ["up", "1", "61", "121", "130", "down"])
        #expect(changes.map(\.omitted) == [0, 0, 59, 59, 8, 0])
        #expect(try texts(HistoryQuery(server: name("b"))) == ["changed other"])
        let summary = try store.summary(
            of: name("a"), since: Timestamp(milliseconds: 0), until: Timestamp(milliseconds: 132_000), buckets: 1,
            now: moment(132_000)
        ) { false }
        #expect(summary.changes == 131)
    }

    @Test("the last change before a restart of the daemon stays, and counts only those of its run")
    func thinningOverRestart() throws {
        for second in Int64(0)...20 { try save(try change("a", "\(second)", at: second * 1000), at: second * 1000) }
        store.close()
        let next = try fixture.openStore(at: 21_000)
        for second in Int64(21)...23 {
            try next.save(batch(changes: [try change("a", "\(second)", at: second * 1000)], at: second * 1000))
        }
        let all = try next.history(HistoryQuery(server: name("a")), after: nil) { false }.changes
        #expect(all.map { $0.server?.headline } == ["0", "20", "23"])
        #expect(all.map(\.omitted) == [0, 19, 2])
    }

    @Test("a server that changes all the time costs no other server its history")
    func shares() throws {
        try save(try change("db", "down", level: .critical, at: 0), try change("db", "up", at: 1), at: 1)
        for time in Int64(2)...1000 { try save(try flap(at: time), at: time) }
        while try store.prune(before: Timestamp(milliseconds: 0), keeping: 20) {}
        #expect(try texts(HistoryQuery(server: name("db"))) == ["changed down", "changed up"])
        #expect(try read(HistoryQuery(server: name("a"))).count == 17)
        #expect(try read(HistoryQuery()).count == 20)
    }

    @Test("changes of level outlive changes of text, which the next entry counts; the newest entry stays")
    func levelsOutliveTexts() throws {
        let levels: [Level] = [.ok, .critical, .ok]
        for (number, level) in levels.enumerated() {
            for minute in Int64(0)..<10 {
                let time = (Int64(number) * 10 + minute) * 61_000
                try save(try change("a", "\(number).\(minute)", level: level, at: time), at: time)
            }
        }
        while try store.prune(before: Timestamp(milliseconds: 0), keeping: 6) {}
        let changes = try read(HistoryQuery(server: name("a")))
        #expect(changes.map { $0.server?.headline } == ["0.0", "1.0", "2.0", "2.8", "2.9"])
        #expect(changes.map(\.omitted) == [0, 9, 9, 7, 0])
    }

    @Test("removed servers share the history of one, and each server keeps its newest entry")
    func removedServers() throws {
        for number in Int64(0)..<50 {
            let added = try change("guest\(number)", "up", at: number)
            try save(added, Change(.removed, at: added.at, revision: 0, server: added.server), at: number)
        }
        for number in Int64(0)..<30 { try save(try change("s\(number)", "up", at: 100 + number), at: 100 + number) }
        while try store.prune(before: Timestamp(milliseconds: 0), keeping: 20) {}
        #expect(try texts(HistoryQuery()).count == 32)
        #expect(try texts(HistoryQuery(server: name("s0"))) == ["changed up"])
        #expect(try texts(HistoryQuery(server: name("guest49"))) == ["removed up"])
    }

    @Test("continues under a new name, also the level of entries that were removed, and once only")
    func renaming() throws {
        try save(try change("old", "1", level: .critical, at: 1000), at: 1000)
        while try store.prune(before: Timestamp(milliseconds: 2000), keeping: 100) {}
        try save(try change("old", "2", at: 3000), at: 3000)
        for _ in 1...2 {
            var batch = batch(changes: [], at: 4000)
            batch.renamed = [(name("old"), name("new")), (name("never"), name("other"))]
            try store.save(batch)
        }
        try save(try change("new", "3", level: .warning, at: 5000), at: 5000)
        #expect(try texts(HistoryQuery(server: name("new"))) == ["changed 2", "changed 3"])
        #expect(try texts(HistoryQuery(server: name("old"))) == [])
        let summary = try store.summary(
            of: name("new"), since: Timestamp(milliseconds: 1000), until: Timestamp(milliseconds: 6000), buckets: 1,
            now: moment(6000)
        ) { false }
        #expect(Level.allCases.map { summary.times[$0] } == [2000, 1000, 2000, 0])
    }

    @Test("is not mixed with that of a later server of the former name, whatever the configuration still says")
    func foreignLife() throws {
        try save(try change("old", "1", at: 1000), at: 1000)
        try save(try change("new", "2", at: 2000), at: 2000)
        try save(try change("old", "3", level: .critical, at: 3000), at: 3000)
        var batch = batch(changes: [], at: 4000)
        batch.renamed = [(name("old"), name("new"))]
        try store.save(batch)
        #expect(try texts(HistoryQuery(server: name("new"))) == ["changed 2"])
        #expect(try texts(HistoryQuery(server: name("old"))) == ["changed 1", "changed 3"])
    }

    @Test("is pruned even if a damaged entry has a text as its time")
    func pruningDamage() throws {
        try store.save(batch(changes: try (1...1200).map { try flap(at: $0) }))
        try Database(path: fixture.path).execute(
            "UPDATE changes SET at = 'noon' WHERE id = (SELECT min(id) + 1 FROM changes)")
        while try store.prune(before: Timestamp(milliseconds: 0), keeping: 100) {}
        #expect(try texts(HistoryQuery(limit: 99)).first == "changed 1102")
    }

    @Test("notes when the daemon ran, even if it was killed")
    func lives() throws {
        try save(try change("a", "1", at: 5000), at: 5000)
        _ = fixture.store().open(at: moment(9000))
        #expect(
            try read(HistoryQuery()).map { "\($0.kind) \($0.at.milliseconds)" } == [
                "started 0", "changed 5000", "stopped 5000", "started 9000",
            ])
    }

    @Test("forgets servers without entries, in steps")
    func forgottenServers() throws {
        let database = try Database(path: fixture.path)
        func names() throws -> Int64? {
            let statement = try database.statement("SELECT count(*) FROM names")
            defer { statement.reset() }
            return try statement.step() ? statement.integer(0) : nil
        }
        let changes = try (1...1200).flatMap { number in
            let added = try change("guest\(number)", "up", at: Int64(number))
            return [added, Change(.removed, at: added.at, revision: added.revision, server: added.server)]
        }
        try store.save(batch(changes: changes))
        while try store.prune(before: Timestamp(milliseconds: 0), keeping: 10) {}
        #expect(try names() == 5)
        // The level of servers that have not changed for long is known.
        try store.save(batch(changes: try (1...1200).map { try change("old\($0)", "up", at: 2000) }))
        while try store.prune(before: Timestamp(milliseconds: 3000), keeping: 5000) {}
        #expect(try names() == 1200)
        var steps = 0
        while try store.prune(before: Timestamp(milliseconds: 0), keeping: 0) { steps += 1 }
        #expect(steps == 2)
        #expect(try names() == 0)
        try store.save(batch(changes: [try change("old1", "down", at: 4000)], at: 4000))
        #expect(try texts(HistoryQuery(server: name("old1"))) == ["changed down"])
    }

    @Test("notes the end of a run that was killed before it saved anything, at its beginning")
    func shortLives() throws {
        for time: Int64 in [1000, 2000] { _ = fixture.store().open(at: moment(time)) }
        #expect(
            try read(HistoryQuery()).map { "\($0.kind) \($0.at.milliseconds)" } == [
                "started 0", "stopped 0", "started 1000", "stopped 1000", "started 2000",
            ])
    }

    @Test("returns the space of removed entries to the file system")
    func shrinking() throws {
        try store.save(batch(changes: try (1...2000).map { try flap(at: $0) }))
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

    @Test("ends a cancelled call")
    func cancelling() throws {
        try store.save(batch(changes: try (0..<2000).map { try flap(at: $0) }))
        #expect(throws: StoreFailure.self) { try store.history(HistoryQuery(level: .critical), after: nil) { true } }
        #expect(try store.history(HistoryQuery(level: .critical), after: nil) { false }.changes.isEmpty)
    }
}
