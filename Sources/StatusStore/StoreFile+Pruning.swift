// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusMonitor

/// Removing old entries of the history.
///
/// The last state in the removed entries is kept: the grade of each server (`names.grade`), whether the daemon was
/// running, and the time of both (`pruned`). So the summary of a server that has not changed for a year still shows its
/// level.
extension StoreFile {
    /// The number of entries that are removed in one transaction, which takes a few milliseconds.
    private static let pruned = 500

    /// Removes some of the oldest entries beyond the limits; returns whether there may be more.
    ///
    /// - Parameters:
    ///   - oldest: older entries are removed.
    ///   - changes: the number of entries to keep; 0 also removes the last state, which from now on may change
    ///     unnoticed.
    func prune(before oldest: Timestamp, keeping changes: Int) throws(SQLiteError) -> Bool {
        // Entries are numbered in order; only a wall clock that jumps makes gaps.
        let last = try database.integer("SELECT max(id) FROM changes") ?? 0
        let removed = try database.transaction { () throws(SQLiteError) in
            try prune(before: oldest, upTo: last - Int64(changes))
        }
        if removed >= Self.pruned { return true }
        // The next entry has the first number again, and identifies the boot.
        if try database.integer("SELECT 1 FROM changes LIMIT 1") == nil { bootNumber = 0 }
        guard changes == 0 else { return false }
        if try forgetNames() >= Self.pruned { return true }
        try forgetPruned()
        return false
    }

    private func prune(before oldest: Timestamp, upTo excessEnd: Int64) throws(SQLiteError) -> Int {
        // Only the first entries are searched, so that the search ends at the first entries that are young enough. A
        // damaged row may have a text as its time.
        let gone = """
            WITH gone AS (
                SELECT * FROM (SELECT * FROM changes ORDER BY id LIMIT \(Self.pruned))
                WHERE id <= \(excessEnd) OR at < \(oldest.milliseconds) OR typeof(at) <> 'integer')
            """
        let latest = try database.integer(
            "\(gone) SELECT coalesce(max(at) FILTER (WHERE typeof(at) = 'integer'), 0) FROM gone HAVING count(*) > 0")
        guard let latest else { return 0 }
        try database.execute(
            """
            \(gone)
            UPDATE names SET grade = last.grade
            FROM (SELECT server, grade, max(id) FROM gone WHERE grade IS NOT NULL GROUP BY server) AS last
            WHERE names.id = last.server;
            \(gone)
            INSERT INTO pruned SELECT 1, \(latest), (
                SELECT kind = 'started' FROM gone WHERE server IS NULL AND kind <> 'selected' ORDER BY id DESC LIMIT 1)
            WHERE true ON CONFLICT DO UPDATE
            SET at = max(at, excluded.at), is_running = coalesce(excluded.is_running, is_running);
            \(gone)
            DELETE FROM names WHERE id IN (SELECT server FROM gone) AND coalesce(grade, 0) = 0
                AND NOT EXISTS (SELECT 1 FROM changes WHERE server = names.id AND id NOT IN (SELECT id FROM gone));
            \(gone)
            DELETE FROM changes WHERE id IN (SELECT id FROM gone);
            """)
        let removed = database.changedRows
        // Returns free pages to the file system, so that the file shrinks after the limits were lowered.
        try database.execute("PRAGMA incremental_vacuum(100)")
        return removed
    }

    private func forgetPruned() throws(SQLiteError) {
        try database.execute("DELETE FROM pruned; UPDATE names SET grade = NULL WHERE grade IS NOT NULL")
    }

    /// Removes names without an entry, a limited number at a time; returns how many.
    private func forgetNames() throws(SQLiteError) -> Int {
        try database.execute(
            """
            DELETE FROM names WHERE id IN (
                SELECT id FROM names n WHERE NOT EXISTS (SELECT 1 FROM changes WHERE server = n.id)
                LIMIT \(Self.pruned))
            """)
        return database.changedRows
    }

    /// Notes, in a transaction, the grades of all servers, if the history is empty.
    ///
    /// It is empty if it was turned on, or if its file is new.
    func beginHistory(of servers: [StoredServer], at now: Moment) throws(SQLiteError) {
        let isEmpty = """
            SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM changes WHERE server IS NOT NULL)
                AND NOT EXISTS (SELECT 1 FROM pruned)
            """
        guard try database.integer(isEmpty) != nil else { return }
        for server in servers {
            let number = try number(of: server.name)
            let level = server.memory.state.countedLevel
            try database.run("UPDATE names SET grade = ? WHERE id = ?", [Level.grade(level), number])
        }
        try database.execute("INSERT INTO pruned VALUES (1, \(now.wall.milliseconds), 1)")
    }
}
