// SPDX-License-Identifier: Apache-2.0

/// The tables of the store.
///
/// Enumerations are words, so that people can read them with sqlite3(1). Times of the wall clock are in milliseconds
/// since 1970. Times since boot and durations are in microseconds.
enum Schema {
    /// Marks the file as statusd's (“stat”).
    static let applicationID: Int64 = 0x7374_6174

    /// The version that this program writes: the number of migrations.
    static var version: Int64 { Int64(migrations.count) }

    /// The steps from an empty file to the current version; a released step never changes.
    ///
    /// No longer used: the columns `dropped_…`, `lost` and `file` of `daemon`, `previous_…` of `events`, `is_open` of
    /// `names`, and the index `open_names`.
    static let migrations = [
        """
        CREATE TABLE daemon (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            epoch TEXT, revision INTEGER,
            all_updates INTEGER, all_changes INTEGER, selected_updates INTEGER, selected_changes INTEGER,
            dropped_updates INTEGER, dropped_changes INTEGER,
            dropped_selected_updates INTEGER, dropped_selected_changes INTEGER,
            selected TEXT, selection_revision INTEGER, configured_selection TEXT,
            boot TEXT, noted_at INTEGER, noted_since_boot INTEGER, is_complete INTEGER
        );
        CREATE TABLE servers (
            name TEXT PRIMARY KEY,
            description TEXT, source TEXT, phase TEXT, text TEXT, level TEXT,
            changed_at INTEGER, level_changed_at INTEGER, updated_at INTEGER, message TEXT,
            stale INTEGER, refreshable INTEGER, revision INTEGER,
            placeholder TEXT, failure TEXT, time_to_live INTEGER, report_interval INTEGER, takes_posts INTEGER,
            updates_revision INTEGER, changes_revision INTEGER,
            refreshed_at INTEGER, grace_end INTEGER, own_time_to_live INTEGER, stays_stale INTEGER,
            guest INTEGER, subject INTEGER, streak INTEGER, time_to_live_user INTEGER
        ) WITHOUT ROWID;
        CREATE TABLE events (
            entry_revision INTEGER PRIMARY KEY,
            kind TEXT, of_selected INTEGER, previous_updates INTEGER, previous_changes INTEGER, selected INTEGER,
            refreshing INTEGER, name TEXT,
            description TEXT, source TEXT, phase TEXT, text TEXT, level TEXT,
            changed_at INTEGER, level_changed_at INTEGER, updated_at INTEGER, message TEXT,
            stale INTEGER, refreshable INTEGER, revision INTEGER
        );
        CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT UNIQUE);
        CREATE TABLE changes (
            id INTEGER PRIMARY KEY,
            server INTEGER, kind TEXT, at INTEGER, grade INTEGER, since_boot INTEGER, life INTEGER, revision INTEGER,
            source TEXT, phase TEXT, text TEXT, level TEXT, message TEXT, stale INTEGER,
            omitted INTEGER, user INTEGER
        );
        CREATE INDEX changes_in_order ON changes (server);
        CREATE INDEX changes_by_time ON changes (server, at, grade);
        """,
        "ALTER TABLE daemon ADD COLUMN history_clock INTEGER",
        """
        ALTER TABLE daemon ADD COLUMN lost TEXT;
        ALTER TABLE daemon ADD COLUMN file TEXT;
        ALTER TABLE names ADD COLUMN grade INTEGER;
        CREATE TABLE pruned (id INTEGER PRIMARY KEY CHECK (id = 1), at INTEGER, is_running INTEGER);
        DROP INDEX changes_in_order;
        DROP INDEX changes_by_time;
        CREATE INDEX changes_of_server ON changes (server, id, grade, kind, at, since_boot, life, omitted);
        """,
        """
        ALTER TABLE names ADD COLUMN is_open INTEGER;
        UPDATE names SET is_open = 1 WHERE 'removed' <> (
            SELECT kind FROM changes WHERE server = names.id AND grade IS NOT NULL ORDER BY id DESC LIMIT 1);
        CREATE INDEX open_names ON names (id) WHERE is_open;
        """,
        """
        ALTER TABLE names ADD COLUMN graded_at INTEGER;
        UPDATE names SET graded_at = (SELECT at FROM pruned) WHERE grade IS NOT NULL;
        """,
        """
        ALTER TABLE daemon ADD COLUMN follows_worst INTEGER;
        ALTER TABLE servers ADD COLUMN has_failed INTEGER;
        """,
        """
        ALTER TABLE servers ADD COLUMN silenced_at INTEGER;
        ALTER TABLE servers ADD COLUMN silenced_until INTEGER;
        ALTER TABLE servers ADD COLUMN silenced_by INTEGER;
        ALTER TABLE servers ADD COLUMN silence_reason TEXT;
        ALTER TABLE events ADD COLUMN silenced_at INTEGER;
        ALTER TABLE events ADD COLUMN silenced_until INTEGER;
        ALTER TABLE events ADD COLUMN silenced_by INTEGER;
        ALTER TABLE events ADD COLUMN silence_reason TEXT;
        CREATE TABLE told (
            receiver TEXT, server TEXT, level TEXT, problem TEXT, is_outdated INTEGER, told_at INTEGER,
            PRIMARY KEY (receiver, server)
        ) WITHOUT ROWID;
        """,
        """
        ALTER TABLE servers ADD COLUMN measured TEXT;
        ALTER TABLE events ADD COLUMN measured TEXT;
        """,
        """
        ALTER TABLE servers ADD COLUMN member_of TEXT;
        ALTER TABLE servers ADD COLUMN parent TEXT;
        ALTER TABLE events ADD COLUMN member_of TEXT;
        ALTER TABLE events ADD COLUMN parent TEXT;
        """,
        """
        CREATE TABLE measurements (
            server INTEGER, step INTEGER, slot INTEGER, at INTEGER, measured TEXT, PRIMARY KEY (server, step, slot)
        ) WITHOUT ROWID;
        CREATE INDEX measurements_by_time ON measurements (at);
        """,
    ]

    /// Checks that the tables are statusd's, before anything is changed.
    ///
    /// - Throws: ``StoreProblem`` if a newer version or another program has written them.
    static func check(_ database: Database) throws {
        let found = try database.integer("PRAGMA user_version") ?? 0
        let owner = try database.integer("PRAGMA application_id") ?? 0
        let isEmpty = try database.integer("SELECT count(*) FROM sqlite_schema") == 0
        guard owner == applicationID || isEmpty else { throw StoreProblem.foreign }
        guard found <= version else { throw StoreProblem.newer(found) }
    }

    /// Creates or upgrades the tables.
    static func prepare(_ database: Database) throws(SQLiteError) {
        let found = try database.integer("PRAGMA user_version") ?? 0
        guard found < version else { return }
        try database.transaction { () throws(SQLiteError) in
            for migration in migrations[Int(max(0, found))...] { try database.execute(migration) }
            try database.execute("PRAGMA application_id = \(applicationID)")
            try database.execute("PRAGMA user_version = \(version)")
        }
    }
}

/// Why a file cannot be used as the store, although SQLite can read it.
enum StoreProblem: Error, Equatable, CustomStringConvertible {
    /// A newer statusd has written the file, with this version of the tables.
    case newer(Int64)
    /// Another program has written the file.
    case foreign
    /// The file could not be read at the start, so this run does not continue its state.
    case unread

    var description: String {
        switch self {
        case .newer(let version): "a newer statusd has written it (version \(version))"
        case .foreign: "another program has written it"
        case .unread: "it could not be read when statusd started"
        }
    }
}
