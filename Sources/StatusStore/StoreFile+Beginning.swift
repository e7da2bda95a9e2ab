// SPDX-License-Identifier: Apache-2.0

import SQLite
import StatusModel
import StatusMonitor

/// Going on with what another run of the daemon has left.
extension StoreFile {
    /// Notes that this run goes on with what another one has left.
    func begin(after contents: StoreContents, at now: Moment) throws(SQLiteError) {
        try database.transaction { () throws(SQLiteError) in
            try database.execute("UPDATE daemon SET is_complete = 0")
            try database.execute("DELETE FROM events")
            // If the log is not complete, the run ended some time after it was saved last.
            let isKilled = contents.memory.map { !$0.isComplete } ?? false
            try beginRun(
                at: now, after: isKilled ? contents.memory?.log.notedAt.wall : nil,
                isOfThisBoot: contents.memory?.isOfThisBoot ?? false,
                revision: contents.memory?.log.revision ?? 0)
        }
    }

    /// Appends what the history lacks of a run that was killed: entries that were held back, or came just after the last batch.
    ///
    /// Otherwise a level that the servers still have would never be in it. It must be called before the first change of this run is saved.
    ///
    /// - Parameters:
    ///   - memory: what that run has left.
    ///   - now: a moment of this run.
    func completeHistory(of memory: LedgerMemory, at now: Moment) throws(SQLiteError) {
        // Without names, there is no history.
        guard try database.integer("SELECT 1 FROM names LIMIT 1") != nil else { return }
        try database.transaction { () throws(SQLiteError) in try appendMissing(of: memory, at: now) }
    }

    private func appendMissing(of memory: LedgerMemory, at now: Moment) throws(SQLiteError) {
        var entries = try newestEntries()
        for state in memory.servers.map(\.state) {
            let newest = entries.removeValue(forKey: state.name) ?? NewestEntry()
            if newest.isCurrent(state) { continue }
            let changedAt = state.status?.changedAt ?? memory.log.notedAt.wall
            // If its text and level are older than the entry, something else has changed since.
            let time = changedAt > newest.at ? changedAt : memory.log.notedAt.wall
            try append(Change(.changed, at: time, revision: state.revision, server: state), since: now)
        }
        for (name, entry) in entries.sorted(by: { $0.key < $1.key }) {
            guard let source = entry.source, entry.kind != .removed else { continue }
            try append(
                Change(
                    .removed, at: memory.log.notedAt.wall, revision: memory.log.revision,
                    server: ServerState(name: name, source: source, phase: .empty)), since: now)
        }
    }

    /// What the history says last of a server.
    private struct NewestEntry {
        var kind: ChangeKind?
        var grade = Grade.none
        var text, source: String?
        var at = Timestamp(milliseconds: .min)

        /// Whether it is the state.
        func isCurrent(_ state: ServerState) -> Bool {
            // Without an entry, what removed entries have said last counts.
            guard let kind else { return grade == Grade(state) }
            return kind != .removed && grade == Grade(state) && text == state.status?.text.rawValue
        }
    }

    private func newestEntries() throws(SQLiteError) -> [ServerName: NewestEntry] {
        let statement = try database.statement(
            """
            SELECT n.name, c.kind, coalesce(c.grade, n.grade, 0), c.text, c.source, c.at FROM names n
            LEFT JOIN changes c ON c.id = \(Self.newest)
            """)
        defer { statement.reset() }
        var entries: [ServerName: NewestEntry] = [:]
        while try statement.step() {
            var columns = Columns(statement)
            guard let name = columns.name() else { continue }
            var entry = NewestEntry()
            entry.kind = columns.text().flatMap { ChangeKind(rawValue: $0) }
            entry.grade = Grade(number: columns.integer() ?? 0)
            (entry.text, entry.source) = (columns.text(), columns.text())
            entry.at = columns.time() ?? entry.at
            entries[name] = entry
        }
        return entries
    }

    /// The newest entry of the server `n` that has a grade.
    private static let newest =
        "(SELECT id FROM changes WHERE server = n.id AND grade IS NOT NULL ORDER BY id DESC LIMIT 1)"

    /// Notes, in a transaction, that a run of the daemon begins, and when the one before has ended.
    ///
    /// - Parameters:
    ///   - end: when that was; nil if there was none, or its end was noted, or it has saved nothing.
    ///   - isOfThisBoot: whether the machine was not booted since then.
    private func beginRun(at now: Moment, after end: Timestamp?, isOfThisBoot: Bool, revision: Int) throws(SQLiteError)
    {
        if isOfThisBoot { try continueBoot() }
        // A run that was killed before its first batch has left only its beginning.
        if let end = [end, try lastBeginning()].compactMap({ $0 }).max() {
            try append(Change(.stopped, at: end, revision: revision), since: now)
        }
        try append(Change(.started, at: now.wall, revision: revision), since: now)
    }

    /// Goes on with the boot of the newest entry.
    private func continueBoot() throws(SQLiteError) {
        let statement = try database.statement("SELECT life, since_boot FROM changes ORDER BY id DESC LIMIT 1")
        defer { statement.reset() }
        guard try statement.step() else { return }
        var columns = Columns(statement)
        (bootNumber, newestChange) = (columns.integer() ?? 0, columns.duration() ?? .zero)
    }

    /// When the last run began, if the history has nothing after that.
    private func lastBeginning() throws(SQLiteError) -> Timestamp? {
        let statement = try database.statement("SELECT kind, at FROM changes ORDER BY id DESC LIMIT 1")
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        var columns = Columns(statement)
        let kind = columns.text().flatMap { ChangeKind(rawValue: $0) }
        return kind == .started ? columns.time() : nil
    }
}
