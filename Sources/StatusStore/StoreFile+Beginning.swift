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
            let killed = contents.memory.flatMap { $0.isComplete ? nil : $0 }
            if let killed { try completeHistory(of: killed) }
            try beginRun(
                at: now, after: killed?.log.notedAt.wall, isOfThisBoot: contents.memory?.isOfThisBoot ?? false,
                revision: contents.memory?.log.revision ?? 0)
        }
    }

    /// Appends what the history lacks of a run that was killed: entries that were held back, or came just after the last batch.
    ///
    /// Otherwise a level that the servers still have would never be in it.
    private func completeHistory(of memory: LedgerMemory) throws(SQLiteError) {
        // Without names, there is no history.
        guard try database.integer("SELECT 1 FROM names LIMIT 1") != nil else { return }
        try continueBoot()
        defer { (bootNumber, newestChange) = (0, .zero) }
        for state in memory.servers.map(\.state) {
            let newest = try newestEntry(of: state.name)
            if newest.isCurrent(state) { continue }
            let changedAt = state.status?.changedAt ?? memory.log.notedAt.wall
            // If its text and level are older than the entry, something else has changed since.
            let time = changedAt > newest.at ? changedAt : memory.log.notedAt.wall
            try append(
                Change(.changed, at: time, revision: state.revision, server: state), since: memory.log.notedAt)
        }
        let names = Set(memory.servers.map(\.state.name))
        for state in try knownServers() where !names.contains(state.name) {
            try append(
                Change(.removed, at: memory.log.notedAt.wall, revision: memory.log.revision, server: state),
                since: memory.log.notedAt)
        }
    }

    /// What the history says last of a server.
    private struct NewestEntry {
        var kind: ChangeKind?
        var grade = Grade.none
        var text: String?
        var at = Timestamp(milliseconds: .min)

        /// Whether it is the state.
        func isCurrent(_ state: ServerState) -> Bool {
            // Without an entry, what removed entries have said last counts.
            guard let kind else { return grade == Grade(state) }
            return kind != .removed && grade == Grade(state) && text == state.status?.text.rawValue
        }
    }

    private func newestEntry(of name: ServerName) throws(SQLiteError) -> NewestEntry {
        let statement = try database.statement(
            """
            SELECT c.kind, coalesce(c.grade, n.grade, 0), c.text, c.at FROM names n LEFT JOIN changes c ON c.id = \(Self.newest)
            WHERE n.name = ?
            """)
        defer { statement.reset() }
        try statement.bind(name.rawValue, at: 0)
        var entry = NewestEntry()
        guard try statement.step() else { return entry }
        var columns = Columns(statement)
        entry.kind = columns.text().flatMap { ChangeKind(rawValue: $0) }
        entry.grade = Grade(number: columns.integer() ?? 0)
        entry.text = columns.text()
        entry.at = columns.time() ?? entry.at
        return entry
    }

    /// The servers that exist according to the history, without their statuses.
    private func knownServers() throws(SQLiteError) -> [ServerState] {
        let statement = try database.statement(
            "SELECT n.name, c.source FROM names n JOIN changes c ON c.id = \(Self.newest) WHERE c.kind <> 'removed'")
        defer { statement.reset() }
        var servers: [ServerState] = []
        while try statement.step() {
            var columns = Columns(statement)
            guard let name = columns.name(), let source = columns.text() else { continue }
            servers.append(ServerState(name: name, source: source, phase: .empty))
        }
        return servers
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
        guard bootNumber == 0 else { return }
        bootNumber = database.lastRowID
        try database.execute("UPDATE changes SET life = id WHERE id = \(bootNumber)")
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
