// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusMonitor

/// Removing old entries of the history.
///
/// What the removed entries said about the time after them is kept: the last level of each server (`names.grade`, from
/// `names.graded_at` on), and whether the daemon ran (`pruned`). So the summary of a server that has not changed for a
/// year still shows its level.
extension StoreFile {
    /// The most entries that are removed in one transaction of some tenths of a second, unless there are many entries.
    private static let pruned = 500

    /// Removes some of the entries beyond the limits; returns whether there may be more.
    ///
    /// Each server has an equal share of the entries, and gets what others do not use. Within it, changes of text go
    /// before changes of level. The removed servers together have one share, and so have the starts and stops.
    ///
    /// - Parameters:
    ///   - oldest: older entries are removed.
    ///   - changes: the number of entries to keep, but at least one for each server; 0 also removes the last state,
    ///     which from now on may change unnoticed.
    func prune(before oldest: Timestamp, keeping changes: Int) throws(SQLiteError) -> Bool {
        // An entry that is `first` has no earlier one of its server left.
        try database.execute("CREATE TEMP TABLE IF NOT EXISTS gone (id INTEGER PRIMARY KEY, first INTEGER)")
        let removed = try database.transaction { () throws(SQLiteError) in
            try database.execute("DELETE FROM gone")
            try chooseOld(before: changes == 0 ? nil : oldest)
            if changes > 0, database.changedRows == 0 { try chooseExcess(beyond: changes) }
            return try removeChosen()
                + forgetMeasurements(before: changes == 0 ? nil : oldest, atMost: Self.pruned)
        }
        // An emptied history is kept again at once, and must not lose what is new.
        if removed >= (changes == 0 ? Self.pruned : 1) { return true }
        // The next entry has the first number again, and identifies the boot.
        if try database.integer("SELECT 1 FROM changes LIMIT 1") == nil { (bootNumber, runNumber) = (0, 0) }
        guard changes == 0 else { return false }
        if try forgetNames() >= Self.pruned { return true }
        try forgetPruned()
        return false
    }

    /// Chooses entries that are too old; nil is all of them.
    ///
    /// Only the first entries are searched, so that the search ends at the first entries that are young enough. A
    /// damaged row may have a text as its time.
    private func chooseOld(before oldest: Timestamp?) throws(SQLiteError) {
        let condition = oldest.map { "WHERE at < \($0.milliseconds) OR typeof(at) <> 'integer'" } ?? ""
        try database.execute(
            """
            INSERT INTO gone (id)
            SELECT id FROM (SELECT id, at FROM changes ORDER BY id LIMIT \(Self.pruned)) \(condition)
            """)
    }

    /// Chooses entries of the subjects that have more than their share.
    private func chooseExcess(beyond limit: Int) throws(SQLiteError) {
        // SQLite takes the kind from the row with the greatest number.
        let subjects = try database.rows(
            """
            SELECT server, sum(entries) FROM (
                SELECT iif(kind = 'removed', 0, server) AS server, count(*) AS entries, max(id)
                FROM changes GROUP BY changes.server) GROUP BY server
            """
        ) { row in (server: row.integer(0), count: Int(row.integer(1) ?? 0)) }
        let share = max(1, FairShare.largest(of: subjects.map(\.count), within: limit))
        // To count all entries takes as long as to remove some of them, so a large history is pruned in larger steps.
        var room = max(Self.pruned, subjects.reduce(0) { $0 + $1.count } / 32)
        for (server, count) in subjects where count > share && room > 0 {
            let excess = min(count - share, room)
            room -= excess
            let condition =
                switch server {
                case nil: "server IS NULL ORDER BY id"
                case 0: "server IN (\(Self.removedServers)) ORDER BY id"
                default: "server = ?1 ORDER BY \(Self.isNeeded), id"
                }
            try database.run(
                "INSERT INTO gone (id) SELECT id FROM changes WHERE \(condition) LIMIT ?2", [server, excess])
        }
    }

    private static let removedServers = """
        SELECT server FROM (SELECT server, max(id), kind FROM changes GROUP BY server) WHERE kind = 'removed'
        """
    /// Whether an entry of a server is its newest, or a change of its level.
    private static let isNeeded = """
        id = max(id) OVER () OR grade IS NOT lag(grade) OVER (PARTITION BY grade IS NULL ORDER BY id)
        """

    /// Whether the chosen entries are the last ones of a removed server.
    private static let isForgotten = """
        coalesce(grade, 0) = 0 AND id IN (SELECT server FROM changes JOIN gone USING (id))
            AND NOT EXISTS (SELECT 1 FROM changes WHERE server = names.id AND id NOT IN (SELECT id FROM gone))
        """

    /// Removes the chosen entries; returns how many.
    private func removeChosen() throws(SQLiteError) -> Int {
        guard try database.integer("SELECT 1 FROM gone LIMIT 1") != nil else { return 0 }
        try database.execute(
            """
            UPDATE gone SET first = NOT EXISTS (
                SELECT 1 FROM changes c JOIN changes x ON x.server = c.server AND x.id < c.id
                WHERE c.id = gone.id AND x.grade IS NOT NULL AND x.id NOT IN (SELECT id FROM gone));
            UPDATE names SET grade = last.grade, graded_at = last.at
            FROM (
                SELECT server, grade, at, max(id) FROM changes JOIN gone USING (id)
                WHERE grade IS NOT NULL AND first AND typeof(at) = 'integer' GROUP BY server) AS last
            WHERE names.id = last.server;
            UPDATE changes SET omitted = omitted + later.count
            FROM (
                SELECT sum(c.omitted + 1) AS count, (
                    SELECT x.id FROM changes x
                    WHERE x.server = c.server AND x.id > c.id AND x.grade IS NOT NULL
                        AND x.id NOT IN (SELECT id FROM gone)
                    ORDER BY x.id LIMIT 1) AS id
                FROM changes c JOIN gone USING (id) WHERE c.kind = 'changed' AND NOT first GROUP BY 2) AS later
            WHERE changes.id = later.id;
            REPLACE INTO pruned
            SELECT 1, at, kind = 'started' FROM changes JOIN gone USING (id)
            WHERE server IS NULL AND kind <> 'selected' AND typeof(at) = 'integer' ORDER BY id DESC LIMIT 1;
            DELETE FROM measurements WHERE server IN (SELECT id FROM names WHERE \(Self.isForgotten));
            DELETE FROM names WHERE \(Self.isForgotten);
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
            try database.run(
                "UPDATE names SET grade = ?, graded_at = ? WHERE id = ?", [Level.grade(level), now.wall, number])
        }
        try database.execute("INSERT INTO pruned VALUES (1, \(now.wall.milliseconds), 1)")
    }
}

/// Shares a number of things fairly.
enum FairShare {
    /// The largest share that all can have who ask for that much or more, if each gets what it asks for up to it.
    ///
    /// It is the greatest number if all get what they ask for.
    static func largest(of wanted: [Int], within limit: Int) -> Int {
        var rest = limit
        for (index, count) in wanted.sorted().enumerated() {
            let share = rest / (wanted.count - index)
            if count > share { return share }
            rest -= count
        }
        return .max
    }
}
