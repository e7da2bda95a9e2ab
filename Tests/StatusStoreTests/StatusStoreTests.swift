// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import StatusAlerts
import StatusModel
import StatusMonitor
import StatusStore
import Testing

@Suite("The store")
struct StatusStoreTests {
    private let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    /// A server in which all values are set.
    private func complete() throws -> StoredServer {
        var state = try state("db", "Signed In", level: .warning, at: 1000)
        state.status?.levelChangedAt = Timestamp(milliseconds: 500)
        state.values = [MeasuredValue("used", 71.5, "%", warning: 85), MeasuredValue("free", 28e9, "B")]
        (state.group, state.parent) = (name("databases"), name("router"))
        state.status?.updatedAt = Timestamp(milliseconds: 2000)
        state.description = "The database"
        state.message = "1 of 3"
        (state.isStale, state.isRefreshable, state.revision) = (true, true, 7)
        state.silence = Silence(
            since: Timestamp(milliseconds: 1500), until: Timestamp(milliseconds: 9500), user: 1000, reason: "disks")
        var server = stored(state)
        server.memory.definition = ServerDefinition(
            name: state.name, description: state.description, parent: state.parent, source: state.source,
            placeholder: "nothing", isRefreshable: true, takesPosts: false, timeToLive: .milliseconds(1500),
            interval: .seconds(3),
            failure: "no such unit")
        server.memory.followed = Revisions(updates: 7, changes: 5)
        server.memory.refreshedAt = .microseconds(-5)
        server.memory.graceEnd = .seconds(9)
        server.memory.ownTimeToLive = .seconds(8)
        server.memory.staysStale = true
        server.source.isGuest = true
        server.source.subject = .min
        server.source.streak = -2
        server.source.timeToLiveUser = 1000
        return server
    }

    private func log() -> LogMemory {
        var log = LogMemory(
            epoch: Epoch("00112233445566778899aabbccddeeff"), revision: 9, notedAt: moment(2500))
        log.followedOfAll = Revisions(updates: 9, changes: 8)
        log.followed = Revisions(updates: 6, changes: 4)
        (log.selected, log.selectionRevision) = (name("db"), 6)
        return log
    }

    @Test("returns everything that was saved, and whether the log is complete")
    func roundTrip() throws {
        let server = try complete()
        var batch = StoreBatch(log: log())
        batch.servers = [server]
        batch.configuredSelection = name("login")
        let store = try fixture.openStore()
        try store.save(batch)
        var contents = fixture.store().open(at: moment(3000)).contents
        let memory = try #require(contents.memory)
        #expect(memory.log == log())
        #expect(memory.servers == [server.memory])
        #expect(memory.isOfThisBoot)
        #expect(!memory.isComplete)
        #expect(contents.sources == [server.name: server.source])
        #expect(contents.configuredSelection == name("login"))
        contents = fixture.store(boot: "another").open(at: moment(3000)).contents
        #expect(contents.memory?.isOfThisBoot == false)
    }

    @Test("returns what receivers of alerts were told, and forgets what need not be kept")
    func told() throws {
        var told = Told()
        (told.level, told.id, told.isOutdated, told.toldAt) = (.critical, "db-1", true, .milliseconds(1500))
        let keys = [AlertKey("mail", name("db")), AlertKey("phone", name("db")), AlertKey("mail", name("web"))]
        var batch = StoreBatch(log: log())
        batch.told = keys.map { ($0, told) }
        let store = try fixture.openStore()
        try store.save(batch)
        told.level = .warning
        batch.told = [(keys[0], told), (keys[1], nil)]
        try store.save(batch)
        let contents = fixture.store().open(at: moment(3000)).contents
        #expect(Set(contents.told.keys) == [keys[0], keys[2]])
        #expect(contents.told[keys[0]] == told)
        #expect(contents.told[keys[2]]?.level == .critical)
    }

    @Test("returns the entries of the log once, after a clean stop")
    func entries() throws {
        var batch = StoreBatch(log: log())
        let server = try complete().memory.state
        batch.entries = [
            LogEntry(revision: 7, kind: .alive),
            LogEntry(
                revision: 8, kind: .changed, snapshot: ServerSnapshot(server), isOfSelected: true),
            LogEntry(revision: 9, kind: .selected),
        ]
        try fixture.openStore().save(batch)
        let memory = try #require(fixture.store().open(at: moment(3000)).contents.memory)
        #expect(memory.isComplete)
        #expect(memory.entries == batch.entries)
        let again = try #require(fixture.store().open(at: moment(3000)).contents.memory)
        #expect(!again.isComplete)
        #expect(again.entries.isEmpty)
    }

    @Test("does not count a log as complete if an entry is damaged")
    func damagedEntry() throws {
        var batch = StoreBatch(log: log())
        batch.entries = (7...9).map { LogEntry(revision: $0, kind: .alive) }
        for change in ["DELETE FROM events WHERE entry_revision = 8", "UPDATE events SET kind = 'dancing'"] {
            let store = try fixture.openStore()
            try store.save(batch)
            store.close()
            try Database(path: fixture.path).execute(change)
            let memory = try #require(fixture.store().open(at: moment(3000)).contents.memory)
            #expect(!memory.isComplete && memory.entries.isEmpty, "\(change)")
        }
    }

    @Test("forgets a server that was removed")
    func removal() throws {
        let store = try fixture.openStore()
        try store.save(batch([stored(try state("a", "1")), stored(try state("b", "1"))]))
        var removal = batch()
        removal.removed = [name("a")]
        try store.save(removal)
        let memory = fixture.store().open(at: moment(0)).contents.memory
        #expect(memory?.servers.map(\.state.name.rawValue) == ["b"])
    }

    @Test("sets aside a file that is not a database, and reports its new name")
    func noDatabase() throws {
        try write("nonsense, and more of it", to: fixture.path)
        let opening = fixture.store().open(at: moment(0))
        #expect(opening.setAside == "file is not a database; it is now \(fixture.path).damaged")
        #expect(opening.failure == nil)
        #expect(fixture.files.contains("statusd.sqlite.damaged"))
        #expect(fixture.files.contains("statusd.sqlite"))
    }

    @Test("continues the history's clock from the time at which it was saved, if the machine has not booted since")
    func historyTime() throws {
        let store = try fixture.openStore()
        var batch = batch(at: 2000)
        batch.historyClock = Timestamp(milliseconds: 1500)
        try store.save(batch)
        store.close()
        for (boot, milliseconds) in [("this", 2000), ("another", 9000)] {
            let contents = fixture.store(boot: boot).open(at: moment(9000)).contents
            let expected = Moment(wall: Timestamp(milliseconds: 1500), boot: .milliseconds(milliseconds))
            #expect(contents.historyTime(at: moment(9000)) == expected)
        }
    }

    @Test("sets aside later files under other names, and replaces only the third of a kind")
    func setAsideAgain() throws {
        for number in 1...4 {
            try write("nonsense \(number), and more of it", to: fixture.path)
            #expect(fixture.store().open(at: moment(0)).failure == nil)
        }
        for (suffix, number) in [("", 1), (".2", 2), (".3", 4)] {
            let text = try String(contentsOfFile: "\(fixture.path).damaged\(suffix)", encoding: .utf8)
            #expect(text.hasPrefix("nonsense \(number)"))
        }
        #expect(!fixture.files.contains("statusd.sqlite.damaged.4"))
    }

    @Test("sets aside a file that a newer version or another program has written")
    func newer() throws {
        _ = try fixture.openStore()
        try Database(path: fixture.path).execute("PRAGMA user_version = 99")
        let opening = fixture.store().open(at: moment(0))
        #expect(
            opening.setAside == "a newer statusd has written it (version 99); it is now \(fixture.path).newer")
        try Database(path: fixture.path).execute("PRAGMA application_id = 1")
        #expect(
            fixture.store().open(at: moment(0)).setAside
                == "another program has written it; it is now \(fixture.path).foreign")
    }

    @Test("sets aside a damaged file, in which a page was overwritten")
    func damage() throws {
        let servers = try (0..<200).map { stored(try state("server-\($0)", String(repeating: "x", count: 200))) }
        let store = try fixture.openStore()
        try store.save(batch(servers))
        store.close()
        let file = try #require(fopen(fixture.path, "r+"))
        fseek(file, 5 * 4096, SEEK_SET)
        for _ in 0..<8 { _ = fwrite(Array(repeating: UInt8(0x55), count: 4096), 1, 4096, file) }
        fclose(file)
        let opening = fixture.store().open(at: moment(0))
        #expect(opening.setAside?.hasSuffix("it is now \(fixture.path).damaged") == true)
        #expect(opening.setAside?.hasPrefix("damaged: ") == true)
        #expect(opening.setAside?.contains("\n") == false)
        #expect(opening.contents.memory == nil)
    }

    @Test("reports a file without a state, because it may have lost the state, but not a missing file")
    func empty() throws {
        #expect(!fixture.store().open(at: moment(0)).isEmpty)
        for file in fixture.files { unlink("\(fixture.directory)/\(file)") }
        try write("", to: fixture.path)
        let opening = fixture.store().open(at: moment(0))
        #expect(opening.isEmpty)
        #expect(opening.failure == nil)
        // As after a copy of the file without its log, which contains everything.
        let store = try fixture.openStore()
        try store.save(batch())
        #expect(!fixture.store().open(at: moment(0)).isEmpty)
    }

    @Test("sets aside a file whose tables do not match its version")
    func otherTables() throws {
        let changes = [
            "DROP TABLE daemon", "PRAGMA user_version = 0", "DROP TABLE pruned", "ALTER TABLE changes DROP COLUMN user",
            "ALTER TABLE servers DROP COLUMN streak", "ALTER TABLE events RENAME message TO words",
        ]
        for change in changes {
            let store = try fixture.openStore()
            try store.save(batch([stored(try state("a", "1"))]))
            store.close()
            try Database(path: fixture.path).execute(change)
            let opening = fixture.store().open(at: moment(0))
            #expect(opening.setAside?.contains("it is now \(fixture.path).damaged") == true, "\(change)")
            #expect(opening.failure == nil)
        }
    }

    @Test("creates files that only their owner can read")
    func mode() throws {
        let mask = umask(0)
        defer { umask(mask) }
        let store = try fixture.openStore()
        try store.save(batch())
        #expect(fixture.files.contains("statusd.sqlite-wal"))
        for file in fixture.files {
            var status = Glibc.stat()
            try #require(lstat("\(fixture.directory)/\(file)", &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600, "\(file)")
        }
    }

    @Test("skips a server whose row is damaged, and counts it")
    func damagedRow() throws {
        let store = try fixture.openStore()
        try store.save(batch([stored(try state("a", "1")), stored(try state("b", "1"))]))
        try Database(path: fixture.path).execute("UPDATE servers SET phase = 'dancing' WHERE name = 'a'")
        let contents = fixture.store().open(at: moment(0)).contents
        #expect(contents.memory?.servers.map(\.state.name.rawValue) == ["b"])
        #expect(contents.damagedRows == 1)
    }

    @Test("continues if a damaged entry of the history has the greatest possible number")
    func damagedNumber() throws {
        let store = try fixture.openStore()
        let states = [try state("a", "1"), try state("b", "2")]
        try store.save(
            batch(changes: states.map { Change(.changed, at: Timestamp(milliseconds: 1), revision: 1, server: $0) }))
        store.close()
        try Database(path: fixture.path).execute(
            "UPDATE changes SET id = \(Int64.max) WHERE id = (SELECT max(id) FROM changes)")
        let next = fixture.store()
        let opening = next.open(at: moment(9))
        #expect(opening.failure == nil && opening.setAside == nil)
        #expect(opening.contents.memory?.servers.count == 2)
        try next.save(batch())
        #expect(try next.history(HistoryQuery(server: name("a")), after: nil) { false }.changes.count == 1)
    }

    @Test("reports why nothing can be saved, and works again once saving is possible")
    func unwritable() throws {
        let directory = fixture.directory + "/missing"
        let store = StatusStore(directory: directory, boot: "this")
        let reason = "the directory cannot be written: no such file or directory"
        #expect(store.open(at: moment(1000)).failure == StoreFailure(reason))
        #expect(throws: StoreFailure(reason)) { try store.save(batch(at: 5000)) }
        try #require(mkdir(directory, 0o700) == 0)
        defer {
            store.close()
            unlink(store.path)
            rmdir(directory)
        }
        let changed = Change(
            .changed, at: Timestamp(milliseconds: 2000), revision: 1, server: try state("a", "1"))
        try store.save(batch([stored(try state("a", "1"))], changes: [changed], at: 7000))
        // In the history, the change must not come before the start.
        let page = try store.history(HistoryQuery(level: nil), after: nil) { false }
        #expect(page.changes.map(\.kind) == [.started, .changed])
        #expect(page.changes.map(\.at.milliseconds) == [1000, 2000])
    }

    @Test("reports why nothing can be saved if its path is not a regular file, and leaves that untouched")
    func noFile() throws {
        for make in [{ mkdir($0, 0o700) }, { mkfifo($0, 0o600) }, { symlink("/tmp", $0) }] as [(String) -> Int32] {
            try #require(make(fixture.path) == 0)
            defer { _ = unlink(fixture.path) == 0 || rmdir(fixture.path) == 0 }
            let store = fixture.store()
            #expect(store.open(at: moment(0)).failure?.remedy == .tryAgain)
            #expect(throws: StoreFailure.self) { try store.save(batch()) }
            #expect(fixture.files == ["statusd.sqlite"])
        }
    }

    @Test("sets aside a file in which a reader of the history has found damage, and begins a new one")
    func damageFoundByReader() throws {
        let store = try fixture.openStore()
        let changes = try (0..<2000).map { number in
            Change(
                .changed, at: Timestamp(milliseconds: number), revision: Int(number),
                server: try state("a", "\(number)", level: number.isMultiple(of: 2) ? .ok : .warning))
        }
        try store.save(batch(changes: changes, at: 5000))
        store.close()
        let again = try fixture.openStore(at: 6000)
        let file = try #require(fopen(fixture.path, "r+"))
        fseek(file, 0, SEEK_END)
        let pages = ftell(file) / 4096
        for page in 8..<pages {
            fseek(file, page * 4096, SEEK_SET)
            _ = fwrite(Array(repeating: UInt8(0x55), count: 4096), 1, 4096, file)
        }
        fclose(file)
        #expect(throws: StoreFailure.self) { try again.history(HistoryQuery(level: .critical), after: nil) { false } }
        let failure = #expect(throws: StoreFailure.self) { try again.save(batch(at: 7000)) }
        #expect(failure?.remedy == .beginAnew)
        #expect(failure?.description.hasSuffix("it is now \(fixture.path).damaged") == true)
        try again.save(batch([stored(try state("a", "1"))], at: 7000))
    }

    private func write(_ text: String, to path: String) throws {
        let file = try #require(fopen(path, "w"))
        fputs(text, file)
        fclose(file)
    }
}
