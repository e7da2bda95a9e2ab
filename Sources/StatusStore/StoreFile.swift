// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusMonitor

/// The open file of a store: its servers, its selection and its history.
///
/// It blocks, and only one thread may use it at a time. Each batch is a transaction, so a killed process leaves all of
/// a batch or nothing of it. Only a power failure can lose saved data, up to the last half minute
/// (`PRAGMA synchronous = NORMAL`).
final class StoreFile {
    let database: Database
    /// Identifies this boot in the history: the number of the first entry since the boot (column `life`).
    var bootNumber: Int64 = 0
    /// The number of the entry with which this run began; 0 if it has been removed.
    var runNumber: Int64 = 0
    /// When the newest entry of this boot was made, by the boot clock.
    var newestChange = Duration.zero
    /// Whether the next batch, which contains all servers, replaces the state of another run.
    ///
    /// Until then the old state is kept, in case this run is killed first.
    var replacesState = false
    /// The slot of each server's last measurement; after a transaction that failed, it may lack one.
    var takenSlots: [ServerName: [TakenSlot]] = [:]

    /// Opens or creates the file.
    ///
    /// - Throws: `SQLiteError`, or ``StoreProblem``.
    init(at path: String) throws {
        let database = try Database(path: path)
        self.database = database
        try Schema.check(database)
        // This takes effect only before the first page is written, which the first setting does.
        if try database.integer("PRAGMA page_count") == 0 { try database.execute("PRAGMA auto_vacuum = INCREMENTAL") }
        for setting in Self.settings { try database.execute(setting) }
        try Schema.prepare(database)
    }

    /// Opens the file as it is, only to read it.
    ///
    /// - Throws: `SQLiteError`, or ``StoreProblem``.
    init(reading path: String, _ access: Database.Access) throws {
        database = try Database(path: path, access: access)
        try Schema.check(database)
    }

    private static let settings = [
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = NORMAL",
        // The size of the page cache, 256 KiB, and the length at which the log is merged into the file, 1 MiB.
        "PRAGMA cache_size = -256",
        "PRAGMA wal_autocheckpoint = 256",
        "PRAGMA journal_size_limit = 1048576",
        "PRAGMA temp_store = MEMORY",
    ]

    // MARK: Reading

    /// Checks the tables that the daemon needs at its start.
    func check() throws(SQLiteError) {
        for table in ["daemon", "servers", "events", "names", "pruned", "told"] { try check(table) }
        // Preparing them fails if a table or a column is missing.
        let statements = [
            Self.logInsertion, Self.serverInsertion, Self.entryInsertion, Self.changeInsertion, Self.nameInsertion,
            Self.nameQuery, Self.dispensableQuery, Self.measurementInsertion,
        ]
        for sql in statements { _ = try database.statement(sql) }
    }

    /// Checks a table for damage; reads all of it.
    func check(_ table: String) throws(SQLiteError) {
        let statement = try database.statement("PRAGMA quick_check('\(table)')")
        defer { statement.reset() }
        while try statement.step() {
            guard let words = statement.text(0), words != "ok" else { continue }
            // The first line only names the database.
            let lines = words.split(separator: "\n").filter { !$0.hasPrefix("***") }
            throw SQLiteError(.damaged, "damaged: \(lines.joined(separator: "; "))")
        }
    }

    /// Reads everything that a restart needs.
    ///
    /// - Parameter boot: identifies this boot of the machine.
    func load(boot: String) throws(SQLiteError) -> StoreContents {
        var contents = StoreContents()
        let daemon = try database.statement(
            "SELECT \(Self.daemonColumns), \(LogMemory.columns) FROM daemon")
        defer { daemon.reset() }
        guard try daemon.step() else { return contents }
        var columns = Columns(daemon)
        let (isComplete, isOfThisBoot) = (columns.flag(), columns.text() == boot)
        (contents.configuredSelection, contents.followsWorst) = (columns.name(), columns.flag())
        contents.historyClock = columns.time()
        contents.told = try loadTold()
        guard let log = LogMemory(from: &columns) else { throw SQLiteError(.damaged, "damaged: the table “daemon”") }
        let servers = try loadServers(&contents)
        var memory = LedgerMemory(log: log, servers: servers, isOfThisBoot: isOfThisBoot)
        let entries = isComplete ? try loadEntries(upTo: log.revision) : nil
        (memory.entries, memory.isComplete) = (entries ?? [], entries != nil)
        contents.memory = memory
        return contents
    }

    private func loadServers(_ contents: inout StoreContents) throws(SQLiteError) -> [ServerMemory] {
        try database.rows("SELECT \(StoredServer.columns) FROM servers ORDER BY name") { row in
            var columns = Columns(row)
            let server = StoredServer(from: &columns)
            if let server { contents.sources[server.name] = server.source } else { contents.damagedRows += 1 }
            return server?.memory
        }
    }

    /// The entries of the log, up to its newest event; nil if one is missing, because a log must have no gap.
    private func loadEntries(upTo revision: Int) throws(SQLiteError) -> [LogEntry]? {
        var entries: [LogEntry] = []
        let statement = try database.statement("SELECT \(LogEntry.columns) FROM events ORDER BY entry_revision")
        defer { statement.reset() }
        while try statement.step() {
            var columns = Columns(statement)
            guard let entry = LogEntry(from: &columns) else { return nil }
            if let last = entries.last, entry.revision != last.revision + 1 { return nil }
            entries.append(entry)
        }
        // A run without an event after a crash has no entries.
        return entries.isEmpty || entries.last?.revision == revision ? entries : nil
    }

    // MARK: Writing

    /// Saves a batch, all of it or nothing.
    func save(_ batch: StoreBatch, boot: String) throws(SQLiteError) {
        try database.transaction { () throws(SQLiteError) in
            if replacesState { try forgetState() }
            for server in batch.servers { try database.run(Self.serverInsertion, server.values) }
            for name in batch.removed {
                try database.run("DELETE FROM servers WHERE name = ?", [name.rawValue])
                takenSlots[name] = nil
            }
            if batch.beginsHistory { try beginHistory(of: batch.servers, at: batch.log.notedAt) }
            for (key, told) in batch.told { try save(told, of: key) }
            for change in batch.changes { try append(change, since: batch.log.notedAt) }
            if batch.keepsHistory { for server in batch.servers { try keepMeasurements(of: server) } }
            for (former, present) in batch.renamed { try rename(former, to: present) }
            for entry in batch.entries ?? [] { try database.run(Self.entryInsertion, entry.values) }
            let daemon: [(any SQLConvertible)?] = [
                batch.entries != nil, boot, batch.configuredSelection?.rawValue, batch.followsWorst, batch.historyClock,
            ]
            try database.run(Self.logInsertion, daemon + batch.log.values)
        }
        replacesState = false
    }

    /// Merges the log into the file, and shortens it, unless another process reads it.
    func shortenLog() {
        database.setTimeout(0)
        try? database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.setTimeout(Database.usualTimeout)
    }

    /// Forgets all servers and the log, but not the history.
    private func forgetState() throws(SQLiteError) {
        for table in ["daemon", "servers", "events", "told"] { try database.execute("DELETE FROM \(table)") }
    }

    private static let daemonColumns = "is_complete, boot, configured_selection, follows_worst, history_clock"
    private static let logInsertion = """
        REPLACE INTO daemon (id, \(daemonColumns), \(LogMemory.columns))
        VALUES (1, \(places(15)))
        """
    private static let serverInsertion =
        "REPLACE INTO servers (\(StoredServer.columns)) VALUES (\(places(StoredServer.columnCount)))"
    private static let entryInsertion =
        "REPLACE INTO events (\(LogEntry.columns)) VALUES (\(places(LogEntry.columnCount)))"

    private static func places(_ count: Int) -> String { String(repeating: "?, ", count: count - 1) + "?" }
}
