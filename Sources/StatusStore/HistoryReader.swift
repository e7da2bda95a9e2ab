// SPDX-License-Identifier: Apache-2.0

public import StatusModel

public struct HistoryQuery: Sendable {
    /// The server; nil for all servers.
    public var server: ServerName?
    /// The earliest and the latest time of an entry.
    public var since, until: Timestamp?
    /// The lowest severity; entries without a level are left out.
    public var level: Level?
    /// The maximum number of entries, of which the newest are read; nil for all.
    public var limit: Int?
    /// Whether to read when servers were selected.
    public var selections: Bool

    public init(
        server: ServerName? = nil, since: Timestamp? = nil, until: Timestamp? = nil, level: Level? = nil,
        limit: Int? = nil, selections: Bool = true
    ) {
        self.server = server
        self.since = since
        self.until = until
        self.level = level
        self.limit = limit
        self.selections = selections
    }
}

/// A page of the history, in order, and the position after it.
public struct HistoryPage: Sendable {
    public var changes: [Change] = []
    var last: Int64
    /// The position of the newest entry when the first page was read, where the last page ends.
    var end: Int64

    /// Whether there are no more entries.
    public var isLast: Bool { last >= end }
}

/// Reads the history, on a connection of its own.
///
/// It blocks, and only one thread may use it at a time. Between two pages it keeps no transaction open, so a slow
/// client does not make the file grow.
final class HistoryReader {
    let database: Database

    /// A reader of a database in memory, which has only one connection (Tests/Fuzzing).
    init(_ database: Database) { self.database = database }

    init(path: String) throws(SQLiteError) {
        database = try Database(path: path, access: .readOnly)
        guard try database.integer("PRAGMA user_version") ?? 0 > 0 else {
            throw SQLiteError(.other, "nothing could be saved yet")
        }
        try database.execute("PRAGMA cache_size = -1024")
    }

    /// The maximum number of entries of a page, and the length in bytes at which it ends.
    ///
    /// A page stays in memory until a client has read it.
    private static let (pageSize, pageLength) = (128, 32_768)

    private static let columns = """
        c.id, c.kind, c.at, c.revision, c.omitted, c.user,
        n.name, c.source, c.phase, c.text, c.level, c.message, c.stale,
        CASE WHEN c.life = f.life THEN (f.since_boot - c.since_boot) / 1000 ELSE f.at - c.at END
        """

    /// Reads a page.
    ///
    /// - Parameter previous: the page before; nil for the first one.
    func page(_ query: HistoryQuery, after previous: HistoryPage?) throws(SQLiteError) -> HistoryPage {
        var page = if let previous { previous } else { try start(query) }
        page.changes = []
        let (condition, values) = try condition(query)
        // A state ends with the server's next entry that has a grade. Only entries with a grade have an end, so each
        // entry in between is skipped only once.
        let statement = try database.statement(
            """
            SELECT \(Self.columns)
            FROM changes c LEFT JOIN names n ON n.id = c.server LEFT JOIN changes f ON f.id = CASE
                WHEN c.grade IS NOT NULL THEN (
                    SELECT x.id FROM changes x
                    WHERE x.server = c.server AND x.id > c.id AND x.grade IS NOT NULL ORDER BY x.id LIMIT 1)
                END
            WHERE c.id > ? AND c.id <= ?\(condition) ORDER BY c.id LIMIT \(Self.pageSize)
            """)
        defer { statement.reset() }
        try statement.bind([page.last, page.end] + values)
        var (rows, length) = (0, 0)
        while length < Self.pageLength {
            guard try statement.step() else {
                if rows < Self.pageSize { page.last = page.end }
                break
            }
            rows += 1
            var columns = Columns(statement)
            page.last = columns.integer() ?? page.end
            guard let change = Change(from: &columns) else { continue }
            length += change.length
            page.changes.append(change)
        }
        return page
    }

    /// The position before the first entry.
    private func start(_ query: HistoryQuery) throws(SQLiteError) -> HistoryPage {
        let end = try database.integer("SELECT max(id) FROM changes") ?? 0
        guard let limit = query.limit else { return HistoryPage(last: 0, end: end) }
        if limit <= 0 { return HistoryPage(last: end, end: end) }
        let (condition, values) = try condition(query)
        let statement = try database.statement(
            "SELECT c.id FROM changes c WHERE c.id <= ?\(condition) ORDER BY c.id DESC LIMIT 1 OFFSET ?")
        defer { statement.reset() }
        try statement.bind([end] + values + [limit - 1])
        return HistoryPage(last: try statement.step() ? (statement.integer(0) ?? 1) - 1 : 0, end: end)
    }

    /// The conditions of a query, and their parameters.
    ///
    /// The text contains no values, because the connection keeps a prepared statement for each text.
    private func condition(_ query: HistoryQuery) throws(SQLiteError) -> (sql: String, values: [(any SQLConvertible)?])
    {
        var (sql, values) = ("", [(any SQLConvertible)?]())
        if let server = query.server {
            sql += " AND c.server = ?"
            values.append(try number(of: server))
        }
        if let since = query.since {
            sql += " AND c.at >= ?"
            values.append(since)
        }
        if let until = query.until {
            sql += " AND c.at <= ?"
            values.append(until)
        }
        if let level = query.level {
            sql += " AND c.grade >= ?"
            values.append(Level.grade(level))
        }
        if !query.selections { sql += " AND c.kind <> '\(ChangeKind.selected.rawValue)'" }
        return (sql, values)
    }
}

extension HistoryReader {
    /// The number of a server in the history; 0 if it has none.
    func number(of server: ServerName) throws(SQLiteError) -> Int64 {
        try database.integer(StoreFile.nameQuery, server.rawValue) ?? 0
    }
}

extension Change {
    /// Reads an entry after its number; nil if the row is damaged.
    fileprivate init?(from columns: inout Columns) {
        guard let kind = columns.text().flatMap({ ChangeKind(rawValue: $0) }), let time = columns.time() else {
            return nil
        }
        self.init(kind, at: time, revision: columns.count(), omitted: columns.count(), user: columns.user())
        server = columns.name().flatMap { ServerState(ofChangeAt: time, $0, from: &columns) }
        if server != nil, kind == .changed || kind == .added { lasted = columns.integer().map { max(0, Int($0)) } }
        switch kind {
        case .changed, .silenced, .unsilenced, .added, .removed: if server == nil { return nil }
        case .selected, .started, .stopped: break
        }
    }
}

extension Change {
    /// The length in bytes: its texts, and a fixed size for everything else.
    fileprivate var length: Int {
        guard let server else { return Self.smallestLength }
        let texts = [server.name.rawValue, server.source, server.status?.text.rawValue, server.message]
        return texts.reduce(Self.smallestLength) { $0 + ($1?.utf8.count ?? 0) }
    }

    private static let smallestLength = 200
}

extension ServerState {
    fileprivate init?(ofChangeAt time: Timestamp, _ name: ServerName, from columns: inout Columns) {
        let source = columns.visibleText()
        let phase = columns.text().flatMap { Phase(rawValue: $0) }
        let text = columns.text().flatMap { StatusText(fitting: $0) }
        let level = columns.text().flatMap { Level(rawValue: $0) }
        let (message, isStale) = (columns.visibleText(), columns.flag())
        guard let source, let phase else { return nil }
        self.init(name: name, source: source, phase: phase, message: message)
        if let text, let level { status = Status(text: text, level: level, changedAt: time, updatedAt: time) }
        self.isStale = isStale
    }
}
