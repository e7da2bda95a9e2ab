// SPDX-License-Identifier: Apache-2.0

import CSQLite

/// A connection to an SQLite database.
///
/// It blocks, and it is used by one thread at a time. Its settings are those for a file that may have been damaged, or
/// prepared by somebody else (<https://www.sqlite.org/security.html>).
public final class Database {
    /// How a file is opened.
    public enum Access: Sendable {
        /// For reading and writing; the file is created if it is missing.
        case readWrite
        /// For reading only.
        case readOnly
        /// Without sharing the file with other connections, so that it needs no room for their index of its log.
        case alone
    }

    let handle: OpaquePointer
    private var statements: [String: Statement] = [:]

    /// The longest text, blob or row that is read or written, in bytes.
    private static let longestValue: Int32 = 1 << 20

    /// Opens a file.
    ///
    /// - Parameters:
    ///   - path: the file; `:memory:` for a database in memory.
    ///   - access: how to open it.
    ///   - timeout: how long to wait for other connections, in milliseconds.
    /// - Throws: ``SQLiteError``.
    public init(path: String, access: Access = .readWrite, timeout: Int32 = usualTimeout) throws(SQLiteError) {
        var handle: OpaquePointer?
        // No mutex: one thread uses a connection at a time.
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

    /// How long to wait for other connections if nothing else is said, in milliseconds.
    public static let usualTimeout: Int32 = 2000

    /// Sets how long to wait for other connections, in milliseconds.
    public func setTimeout(_ milliseconds: Int32) { sqlite3_busy_timeout(handle, milliseconds) }

    deinit {
        statements = [:]
        sqlite3_close_v2(handle)
    }

    /// Executes statements that return nothing of interest.
    public func execute(_ sql: String) throws(SQLiteError) {
        try check(sqlite3_exec(handle, sql, nil, nil, nil))
    }

    /// A statement with `?` for each parameter, ready to be bound; it is prepared once for each text.
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

    /// The row id of the last row that was inserted.
    public var lastRowID: Int64 { sqlite3_last_insert_rowid(handle) }

    func check(_ result: Int32) throws(SQLiteError) {
        if result != SQLITE_OK { throw SQLiteError(result: result, database: handle) }
    }

    // MARK: Cancelling

    /// Calls `isCancelled` now and then while a statement runs, which then ends with ``SQLiteError/Code/interrupted``
    /// if it returns true.
    public func setCancellation(_ isCancelled: @escaping () -> Bool) {
        cancellation = Cancellation(isCancelled)
        let context = Unmanaged.passUnretained(cancellation).toOpaque()
        sqlite3_progress_handler(handle, Self.instructionsPerLook, asksToCancel, context)
    }

    private var cancellation = Cancellation { false }

    /// About ten microseconds.
    private static let instructionsPerLook: Int32 = 1000
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

private func asksToCancel(_ context: UnsafeMutableRawPointer?) -> Int32 {
    guard let context else { return 0 }
    return Unmanaged<Cancellation>.fromOpaque(context).takeUnretainedValue().isCancelled() ? 1 : 0
}
