// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Glibc

/// An error of SQLite or of the underlying file.
public struct SQLiteError: Error, Equatable, CustomStringConvertible {
    /// The kinds of errors that callers distinguish.
    public enum Code: Sendable {
        /// The file is not a database, or is damaged (`SQLITE_CORRUPT`, `SQLITE_NOTADB`).
        case damaged
        /// The disk or the quota is full (`SQLITE_FULL`).
        case full
        /// The file or its directory is not writable (`SQLITE_READONLY`, `SQLITE_PERM`, `SQLITE_CANTOPEN`).
        case inaccessible
        /// The process has too many open files (`EMFILE`).
        case outOfDescriptors
        /// Another process has locked the file (`SQLITE_BUSY`).
        case busy
        /// The statement does not match the tables (`SQLITE_ERROR`).
        case unfit
        /// The call was cancelled (`SQLITE_INTERRUPT`).
        case interrupted
        /// Anything else, such as an I/O error.
        case other
    }

    public let code: Code
    /// The reason as one phrase: “disk I/O error”.
    public let description: String

    /// Creates an error that the caller found in a database.
    public init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    /// Creates the error for a result code, with the connection's message if there is one.
    init(result: Int32, database: OpaquePointer?) {
        let message = sqlite3_errmsg(database).map { String(cString: $0) }
        let general = sqlite3_errstr(result).map { String(cString: $0) } ?? "error \(result)"
        let systemError = database.map { sqlite3_system_errno($0) } ?? 0
        code = systemError == EMFILE ? .outOfDescriptors : Code(result: result)
        let reason = database == nil ? general : message ?? general
        description = systemError == 0 ? reason : "\(reason) (\(Self.systemReason(systemError)))"
    }

    /// The system's message for an error number, in lower case.
    private static func systemReason(_ number: Int32) -> String {
        let text = String(cString: strerror(number))
        return text.prefix(1).lowercased() + text.dropFirst()
    }
}

extension SQLiteError.Code {
    fileprivate init(result: Int32) {
        self =
            switch result & 0xff {
            case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT, SQLITE_TOOBIG: .damaged
            case SQLITE_FULL: .full
            case SQLITE_READONLY, SQLITE_PERM, SQLITE_CANTOPEN, SQLITE_AUTH: .inaccessible
            case SQLITE_BUSY, SQLITE_LOCKED: .busy
            case SQLITE_ERROR: .unfit
            case SQLITE_INTERRUPT: .interrupted
            default: .other
            }
    }
}
