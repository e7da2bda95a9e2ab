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
            try database.execute("DELETE FROM changes WHERE id > \(Self.greatestEntry)")
            firstEntry = (try database.integer("SELECT max(id) FROM changes") ?? 0) + 1
            try beginRun(after: contents.memory, at: now)
        }
    }

    /// The greatest number of an entry that is believed; a damaged row may have any, and none could follow it.
    private static let greatestEntry: Int64 = 1 << 53

    /// Adds what the history lacks of a run that was killed: entries that were held back, or came just after the last batch.
    ///
    /// Otherwise a level that the servers still have would never be in it. It must be called before the first change of this run is saved, because
    /// the entries come before its beginning.
    ///
    /// - Parameters:
    ///   - memory: what that run has left.
    ///   - now: when this run began.
    func completeHistory(of memory: LedgerMemory, at now: Moment) throws(SQLiteError) {
        let missing = try missingChanges(of: memory)
        guard !missing.isEmpty else { return }
        let boot = (bootNumber, newestChange)
        var isDone = false
        defer {
            if !isDone {
                (bootNumber, newestChange) = boot
                names = [:]
            }
        }
        try database.transaction { () throws(SQLiteError) in
            try database.execute("DELETE FROM changes WHERE id >= \(firstEntry)")
            try continueBoot()
            for change in missing { try append(change, since: memory.log.notedAt) }
            try beginRun(after: memory, at: now)
        }
        isDone = true
    }

    private func missingChanges(of memory: LedgerMemory) throws(SQLiteError) -> [Change] {
        // Without names, there is no history.
        guard try database.integer("SELECT 1 FROM names LIMIT 1") != nil else { return [] }
        var missing: [Change] = []
        let notedAt = memory.log.notedAt.wall
        let states = memory.servers.map(\.state)
        for state in states {
            let newest = try newestEntry(of: state.name)
            if newest.isCurrent(state) { continue }
            let changedAt = state.status?.changedAt ?? notedAt
            // If its text and level are older than the entry, something else has changed since.
            let time = changedAt > newest.at ? changedAt : notedAt
            missing.append(Change(.changed, at: time, revision: state.revision, server: state))
        }
        for name in try openNames().subtracting(states.map(\.name)).sorted() {
            guard let source = try newestEntry(of: name).source else { continue }
            let server = ServerState(name: name, source: source, phase: .empty)
            missing.append(Change(.removed, at: notedAt, revision: memory.log.revision, server: server))
        }
        return missing
    }

    /// The servers whose newest entry says that they exist.
    private func openNames() throws(SQLiteError) -> Set<ServerName> {
        let statement = try database.statement("SELECT name FROM names WHERE is_open")
        defer { statement.reset() }
        var names: Set<ServerName> = []
        while try statement.step() {
            var columns = Columns(statement)
            if let name = columns.name() { names.insert(name) }
        }
        return names
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

    private func newestEntry(of name: ServerName) throws(SQLiteError) -> NewestEntry {
        let statement = try database.statement(
            """
            SELECT c.kind, coalesce(c.grade, n.grade, 0), c.text, c.source, c.at FROM names n
            LEFT JOIN changes c ON c.id = (
                SELECT id FROM changes WHERE server = n.id AND grade IS NOT NULL ORDER BY id DESC LIMIT 1)
            WHERE n.name = ?
            """)
        defer { statement.reset() }
        try statement.bind(name.rawValue, at: 0)
        var entry = NewestEntry()
        guard try statement.step() else { return entry }
        var columns = Columns(statement)
        entry.kind = columns.text().flatMap { ChangeKind(rawValue: $0) }
        entry.grade = Grade(number: columns.integer() ?? 0)
        (entry.text, entry.source) = (columns.text(), columns.text())
        entry.at = columns.time() ?? entry.at
        return entry
    }

    /// Notes, in a transaction, that this run begins, and when the one before has ended.
    private func beginRun(after memory: LedgerMemory?, at now: Moment) throws(SQLiteError) {
        let beginning = try continueBoot()
        // If the log is not complete, that run ended some time after it was saved last. If it was killed before that, it has left only its beginning.
        let ends = [memory.flatMap { $0.isComplete ? nil : $0.log.notedAt }, beginning].compactMap(\.self)
        let revision = memory?.log.revision ?? 0
        if let end = ends.max(by: { $0.wall < $1.wall }) {
            try append(Change(.stopped, at: end.wall, revision: revision), since: end)
        }
        if memory?.isOfThisBoot != true { (bootNumber, newestChange) = (0, .zero) }
        try append(Change(.started, at: now.wall, revision: revision), since: now)
    }

    /// Goes on with the boot of the newest entry; returns when the last run began, if the history has nothing after that.
    @discardableResult
    private func continueBoot() throws(SQLiteError) -> Moment? {
        let statement = try database.statement(
            "SELECT life, since_boot, kind, at FROM changes ORDER BY id DESC LIMIT 1")
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        var columns = Columns(statement)
        (bootNumber, newestChange) = (columns.integer() ?? 0, columns.duration() ?? .zero)
        let kind = columns.text().flatMap { ChangeKind(rawValue: $0) }
        guard kind == .started, let at = columns.time() else { return nil }
        return Moment(wall: at, boot: newestChange)
    }
}
