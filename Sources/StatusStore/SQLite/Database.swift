// SPDX-License-Identifier: Apache-2.0

import CSQLite

/// A connection to an SQLite database.
///
/// Its methods block. Only one thread may use a connection at a time. The settings are those that SQLite recommends for
/// untrusted files (<https://www.sqlite.org/security.html>), because a file may be damaged.
public final class Database {
    /// The mode in which a file is opened.
    public enum Access: Sendable {
        /// For reading and writing; the file is created if it is missing.
        case readWrite
        case readOnly
        /// For reading and writing without other connections, so that no shared-memory file is needed.
        case alone
    }

    let handle: OpaquePointer
    private var statements: [String: Statement] = [:]

    /// The maximum length of a text, blob or row, in bytes.
    private static let longestValue: Int32 = 1 << 20

    /// Opens a file.
    ///
    /// - Parameters:
    ///   - path: the file; `:memory:` for a database in memory.
    ///   - timeout: how long to wait for other connections, in milliseconds.
    /// - Throws: ``SQLiteError``.
    public init(path: String, access: Access = .readWrite, timeout: Int32 = usualTimeout) throws(SQLiteError) {
        var handle: OpaquePointer?
        // No mutex, because only one thread uses a connection at a time.
        let flags = access.flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW
        let result = sqlite3_open_v2(path, &handle, flags, nil)
        guard result == SQLITE_OK, let handle else {
            let error = SQLiteError(result: result, database: handle)
            sqlite3_close_v2(handle)
            throw error
        }
        self.handle = handle
        sqlite3_extended_result_codes(handle, 1)
        setTimeout(timeout)
        sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, Self.longestValue)
        if access == .alone { try execute("PRAGMA locking_mode = EXCLUSIVE") }
        _ = statusd_sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1)
        _ = statusd_sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        _ = statusd_sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        _ = statusd_sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0)
    }

    /// The default time to wait for other connections, in milliseconds.
    public static let usualTimeout: Int32 = 2000

    /// Sets how long to wait for other connections, in milliseconds.
    public func setTimeout(_ milliseconds: Int32) { sqlite3_busy_timeout(handle, milliseconds) }

    deinit {
        statements = [:]
        sqlite3_close_v2(handle)
    }

    /// Executes statements and discards their rows.
    public func execute(_ sql: String) throws(SQLiteError) { try check(sqlite3_exec(handle, sql, nil, nil, nil)) }

    /// Returns a statement with `?` for each parameter; it is prepared only once for each text.
    public func statement(_ sql: String) throws(SQLiteError) -> Statement {
        if let statement = statements[sql] {
            statement.reset()
            return statement
        }
        let statement = try Statement(sql, in: self)
        statements[sql] = statement
        return statement
    }

    /// Runs `body` in a transaction, which is rolled back if `body` throws.
    public func transaction<Result>(
        _ body: () throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        try execute("BEGIN IMMEDIATE")
        do throws(SQLiteError) {
            let result = try body()
            try execute("COMMIT")
            return result
        } catch {
            // SQLite may have rolled back already.
            if sqlite3_get_autocommit(handle) == 0 { try? execute("ROLLBACK") }
            throw error
        }
    }

    /// The number of rows that the last statement changed.
    public var changedRows: Int { Int(sqlite3_changes64(handle)) }

    public var lastRowID: Int64 { sqlite3_last_insert_rowid(handle) }

    func check(_ result: Int32) throws(SQLiteError) {
        if result != SQLITE_OK { throw SQLiteError(result: result, database: handle) }
    }

    // MARK: Cancelling

    /// Calls `isCancelled` repeatedly while a statement runs.
    ///
    /// If it returns true, the statement fails with ``SQLiteError/Code/interrupted``.
    public func setCancellation(_ isCancelled: @escaping () -> Bool) {
        cancellation = Cancellation(isCancelled)
        let context = Unmanaged.passUnretained(cancellation).toOpaque()
        sqlite3_progress_handler(handle, Self.instructionsPerCall, cancellationHandler, context)
    }

    private var cancellation = Cancellation { false }

    /// The instructions between two calls, which take about 10 µs.
    private static let instructionsPerCall: Int32 = 1000
}

extension Database.Access {
    fileprivate var flags: Int32 {
        switch self {
        case .readWrite: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        case .alone: SQLITE_OPEN_READWRITE
        case .readOnly: SQLITE_OPEN_READONLY
        }
    }
}

private final class Cancellation {
    let isCancelled: () -> Bool

    init(_ isCancelled: @escaping () -> Bool) { self.isCancelled = isCancelled }
}

private func cancellationHandler(_ context: UnsafeMutableRawPointer?) -> Int32 {
    guard let context else { return 0 }
    return Unmanaged<Cancellation>.fromOpaque(context).takeUnretainedValue().isCancelled() ? 1 : 0
}
