// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusMonitor

/// Writing the history.
extension StoreFile {
    static let changeInsertion = """
        INSERT INTO changes (
            server, kind, at, grade, since_boot, life, revision,
            source, phase, text, level, message, stale, omitted, user)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """

    static let nameInsertion = "INSERT OR IGNORE INTO names (name) VALUES (?)"
    static let nameQuery = "SELECT id FROM names WHERE name = ?"

    /// Appends an entry.
    ///
    /// Of the changes of text at one level, it keeps the first, the last, and at most one a minute: a change replaces
    /// the one before it, unless that came a minute after its own predecessor. The level lasts all the time. The last
    /// entry of an earlier run stays.
    ///
    /// - Parameter now: a time of this run by both clocks, which relates them.
    func append(_ change: Change, since now: Moment) throws(SQLiteError) {
        var change = change
        let state = change.server
        let server = try state.map { state throws(SQLiteError) in try number(of: state.name) }
        if change.kind == .changed, let replaced = try dispensable(before: change, server) {
            change.omitted += replaced.count
            try database.run("DELETE FROM changes WHERE id = ?", [replaced.id])
        }
        newestChange = moment(of: change, at: now)
        try database.run(
            Self.changeInsertion,
            [
                server, change.kind.rawValue, change.at, change.grade, newestChange, bootNumber, change.revision,
                state?.source, state?.phase.rawValue, state?.status?.text.rawValue, state?.status?.level.rawValue,
                state?.message, state?.isStale ?? false, change.omitted, change.user,
            ])
        guard bootNumber == 0 else { return }
        bootNumber = database.lastRowID
        try database.execute("UPDATE changes SET life = id WHERE id = \(bootNumber)")
    }

    /// The last entry of a server if a change of text makes it dispensable, and how many changes it stands for.
    private func dispensable(before change: Change, _ server: Int64?) throws(SQLiteError) -> (id: Int64, count: Int)? {
        let rows = try database.rows(Self.dispensableQuery, [server, change.grade, runNumber]) { row in
            var columns = Columns(row)
            return (id: columns.integer() ?? 0, count: columns.count() + 1)
        }
        return rows.first
    }

    static let dispensableQuery = """
        WITH latest AS (
            SELECT id, kind, grade, since_boot, life, omitted FROM changes
            WHERE server = ?1 AND grade IS NOT NULL ORDER BY id DESC LIMIT 2)
        SELECT last.id, last.omitted FROM latest last JOIN latest previous ON previous.id < last.id
        WHERE last.kind = 'changed' AND last.grade = ?2 AND previous.grade = ?2
            AND last.id > ?3 AND last.life = previous.life AND last.since_boot - previous.since_boot < 60000000
        """

    /// The time since boot at which an entry was made.
    ///
    /// It is computed from the entry's wall clock, unless that would place the entry long before the previous one: then
    /// the wall clock was set. Entries come in order, except for entries that were held back for a while.
    private func moment(of change: Change, at now: Moment) -> Duration {
        let moment = now.boot - .milliseconds(now.wall.milliseconds - change.at.milliseconds)
        return moment < newestChange - Self.longestDelay ? newestChange : min(moment, now.boot)
    }

    private static let longestDelay = Duration.seconds(600)

    /// Adds the history of a former name to that of a server, if it ended before the server's own began.
    ///
    /// A later server with the former name is another one.
    func rename(_ former: ServerName, to present: ServerName) throws(SQLiteError) {
        guard let old = try database.integer(Self.nameQuery, former.rawValue) else { return }
        let new = try number(of: present)
        let isLater = try database.integer(
            """
            SELECT coalesce((SELECT grade FROM names WHERE id = \(new)), 0) > 0
                OR (SELECT max(id) FROM changes WHERE server = \(old))
                    > (SELECT min(id) FROM changes WHERE server = \(new))
            """)
        if isLater == 1 { return }
        // If its last status was handed on, nothing has changed in between.
        let handedOn = try database.integer(
            """
            SELECT id FROM changes
            WHERE id = (SELECT min(id) FROM changes WHERE server = \(new) AND kind = 'changed') AND (text, level) IS (
                SELECT text, level FROM changes WHERE server = \(old) AND kind = 'changed' ORDER BY id DESC LIMIT 1)
            """)
        if let handedOn {
            try database.execute(
                """
                DELETE FROM changes WHERE server = \(new) AND id <= \(handedOn);
                DELETE FROM changes WHERE id = (SELECT max(id) FROM changes WHERE server = \(old)) AND kind = 'removed';
                """)
        }
        try database.execute(
            """
            UPDATE changes SET server = \(new) WHERE server = \(old);
            UPDATE OR REPLACE measurements SET server = \(new) WHERE server = \(old);
            UPDATE names SET (grade, graded_at) = (SELECT grade, graded_at FROM names WHERE id = \(old))
            WHERE id = \(new) AND coalesce(grade, 0) = 0;
            DELETE FROM names WHERE id = \(old);
            """)
    }

    /// The number of a server in the history; a new server gets one.
    func number(of name: ServerName) throws(SQLiteError) -> Int64 {
        try database.run(Self.nameInsertion, [name.rawValue])
        guard let number = try database.integer(Self.nameQuery, name.rawValue) else {
            throw SQLiteError(.damaged, "damaged: the table “names”")
        }
        return number
    }
}

extension Change {
    /// The grade of the time after the entry; nil if the entry does not change it.
    fileprivate var grade: Int64? {
        switch kind {
        case .changed, .added: server.map { Level.grade($0.countedLevel) }
        case .removed: Level.grade(nil)
        case .selected, .silenced, .unsilenced, .started, .stopped: nil
        }
    }
}

extension Level {
    /// The number of a level, or of none, in the columns `grade`: its severity, or 0.
    static func grade(_ level: Level?) -> Int64 { Int64(level?.severity ?? 0) }

    /// The level with this number; nil for none.
    init?(grade: Int64?) {
        guard let level = Level.allCases.first(where: { Int64($0.severity) == grade }) else { return nil }
        self = level
    }
}
