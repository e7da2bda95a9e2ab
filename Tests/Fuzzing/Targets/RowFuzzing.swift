// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusMonitor

@testable import StatusStore

/// Rows of the store, one in each line: a letter for the table, then its columns, each after a unit separator (0x1F).
///
/// A column is `i` and an integer, `t` and a text, or anything else for null.
enum RowFuzzing {
    private static let tables: [UInt8: String] = [
        UInt8(ascii: "d"): "daemon", UInt8(ascii: "s"): "servers", UInt8(ascii: "e"): "events",
        UInt8(ascii: "n"): "names", UInt8(ascii: "c"): "changes", UInt8(ascii: "m"): "measurements",
    ]
    private static let now = Moment(wall: Timestamp(milliseconds: 1_764_072_000_000), boot: .seconds(1000))

    static func check(_ input: [UInt8]) {
        do {
            let file = try StoreFile(at: ":memory:")
            for line in input.split(separator: 0x0A) { insert(line, into: file.database) }
            try checkState(of: file)
            try checkHistory(of: file)
        } catch let error as SQLiteError {
            expect(error.code == .damaged, "nothing but damage is an error: \(error)")
        } catch {
            fatalError("broken property: every error is one of SQLite: \(error)")
        }
    }

    private static func insert(_ line: ArraySlice<UInt8>, into database: Database) {
        guard let table = line.first.flatMap({ tables[$0] }) else { return }
        let fields = line.dropFirst().split(separator: 0x1F, omittingEmptySubsequences: false).dropFirst()
        // An input may be older than the last columns, which are then null.
        let count = (try? database.integer("SELECT count(*) FROM pragma_table_info('\(table)')")).flatMap { $0 } ?? 0
        let places = Array(repeating: "?", count: Int(count)).joined(separator: ", ")
        // A row that breaks a constraint is not there.
        try? database.transaction { () throws(SQLiteError) in
            let statement = try database.statement("REPLACE INTO \(table) VALUES (\(places))")
            for (index, field) in fields.prefix(Int(count)).enumerated() {
                try bind(field, to: statement, at: Int32(index))
            }
            try statement.run()
        }
    }

    private static func bind(_ field: ArraySlice<UInt8>, to statement: Statement, at index: Int32) throws(SQLiteError) {
        switch field.first {
        case UInt8(ascii: "i"): try statement.bind(Int64(String(decoding: field.dropFirst(), as: UTF8.self)), at: index)
        case UInt8(ascii: "t"): try statement.bind(String(decoding: field.dropFirst(), as: UTF8.self), at: index)
        default: try statement.bind(String?.none, at: index)
        }
    }

    private static func checkState(of file: StoreFile) throws(SQLiteError) {
        let contents = try file.load(boot: "this")
        guard let memory = contents.memory else { return }
        for server in memory.servers { checkTexts(server.state) }
        for entry in memory.entries { (entry.snapshot?.state).map(checkTexts) }
        checkMonitor(memory)
        var batch = StoreBatch(log: memory.log)
        batch.servers = memory.servers.map {
            StoredServer($0, source: contents.sources[$0.state.name] ?? SourceMemory())
        }
        batch.entries = memory.entries
        try file.save(batch, boot: "this")
        let again = try file.load(boot: "this")
        expect(again.memory?.servers == memory.servers, "what is loaded and saved is loaded again")
        expect(again.memory?.log == memory.log, "the same log")
        expect(again.sources == contents.sources, "the same sources")
    }

    private static func checkMonitor(_ memory: LedgerMemory) {
        let now = now
        let monitor = StatusMonitor(restoring: memory) { now }
        monitor.expire()
        let watch = try? monitor.watch(.all, since: Cursor(epoch: memory.log.epoch, revision: memory.log.revision - 1))
        { _ in }
        for _ in 0..<3 { _ = watch?.next() }
        expect(monitor.states.count == memory.servers.count, "a monitor has every server")
        for state in monitor.states { _ = try? monitor.post(StatusText(of: .ok), to: state.name) }
        expect(monitor.cursor.revision >= memory.log.revision + memory.servers.count, "revisions go on")
    }

    private static func checkHistory(of file: StoreFile) throws(SQLiteError) {
        let reader = HistoryReader(file.database)
        var page: HistoryPage?
        repeat {
            page = try reader.page(HistoryQuery(level: nil), after: page)
            for change in page?.changes ?? [] { change.server.map(checkTexts) }
        } while page?.isLast == false
        guard let server = ServerName("db") else { return }
        let (since, until) = (Timestamp(milliseconds: 0), now.wall)
        var summary = try reader.summary(
            of: server, since: since, until: until, buckets: 7, now: Moment(wall: until, boot: .zero), boot: "this")
        let total = summary.times.known + summary.times.none
        expect(total == Int(until.milliseconds), "the times of a summary are those of the period")
        try reader.addValue("", to: &summary, now: summary.until)
        _ = try file.prune(before: now.wall, keeping: 1)
    }

    private static func checkTexts(_ state: ServerState) {
        (state.status?.text).map(TextProperties.expectValid)
        for text in [state.message, state.description, state.source] {
            text.map(TextProperties.expectVisible)
            text.map(TextProperties.expectCheapToCompare)
        }
    }
}
