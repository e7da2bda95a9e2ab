// SPDX-License-Identifier: Apache-2.0

import CSQLite

/// A prepared statement: bind its parameters, then step through its rows.
///
/// Columns and parameters are counted from 0. A column of an unexpected type is read as null, so that a damaged row
/// does no harm.
public final class Statement {
    private let handle: OpaquePointer
    private unowned let database: Database

    init(_ sql: String, in database: Database) throws(SQLiteError) {
        var handle: OpaquePointer?
        try database.check(
            sqlite3_prepare_v3(database.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil))
        guard let handle else { throw SQLiteError(.other, "no statement in “\(sql)”") }
        self.handle = handle
        self.database = database
    }

    deinit { sqlite3_finalize(handle) }

    /// Discards the remaining rows and the parameters.
    public func reset() {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    // MARK: Parameters

    /// Binds an integer, or null.
    public func bind(_ value: Int64?, at index: Int32) throws(SQLiteError) {
        guard let value else { return try database.check(sqlite3_bind_null(handle, index + 1)) }
        try database.check(sqlite3_bind_int64(handle, index + 1, value))
    }

    /// Binds a text, or null.
    public func bind(_ value: String?, at index: Int32) throws(SQLiteError) {
        guard var value else { return try database.check(sqlite3_bind_null(handle, index + 1)) }
        let result = value.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
                // An empty text may have no address, which SQLite would bind as null.
                guard let start = $0.baseAddress else { return statusd_sqlite3_bind_text(handle, index + 1, "", 0) }
                return statusd_sqlite3_bind_text(handle, index + 1, start, Int32($0.count))
            }
        }
        try database.check(result)
    }

    // MARK: Rows

    /// Moves to the next row; returns false after the last one.
    public func step() throws(SQLiteError) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let result:
            let error = SQLiteError(result: result, database: database.handle)
            sqlite3_reset(handle)
            throw error
        }
    }

    /// Runs a statement that returns no rows.
    public func run() throws(SQLiteError) {
        while try step() {}
        reset()
    }

    /// The integer in a column; nil if the column has another type.
    public func integer(_ column: Int32) -> Int64? {
        sqlite3_column_type(handle, column) == SQLITE_INTEGER ? sqlite3_column_int64(handle, column) : nil
    }

    /// The text in a column; nil if the column has another type, or is not UTF-8.
    public func text(_ column: Int32) -> String? {
        guard sqlite3_column_type(handle, column) == SQLITE_TEXT, let start = sqlite3_column_text(handle, column)
        else { return nil }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(validating: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }
}
