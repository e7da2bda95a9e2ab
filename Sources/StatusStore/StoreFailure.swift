// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusModel

/// Why an operation of the store failed.
public struct StoreFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// The way to continue after the failure.
    public enum Remedy: Sendable {
        /// The call may succeed later.
        case tryAgain
        /// The file was set aside; the next batch begins a new one, so it must contain everything.
        case beginAnew
    }

    /// The reason as one phrase.
    public let description: String
    public let remedy: Remedy

    /// A failure that a caller has noticed.
    public init(_ description: String) { self.init(description, .tryAgain) }

    init(_ description: String, _ remedy: Remedy) { (self.description, self.remedy) = (description, remedy) }

    /// The failure of an operation on the file at `path`.
    init(_ error: any Error, at path: String) {
        switch error {
        case let error as StoreFailure: self = error
        case let error as SQLiteError where error.code == .inaccessible:
            self.init(Self.problem(ofDirectoryOf: path) ?? error.description)
        case let error as SQLiteError where error.code == .busy: self.init("another program has locked it (\(error))")
        case let error as SQLiteError where error.code == .outOfDescriptors:
            self.init("\(error); raise LimitNOFILE= of the service")
        default: self.init("\(error)")
        }
    }

    /// Why the directory of the file cannot be used, which SQLite's errors do not say; nil if it can.
    private static func problem(ofDirectoryOf path: String) -> String? {
        let directory = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        guard access(directory, W_OK | X_OK) != 0 else { return nil }
        return "the directory cannot be written: \(String(cString: strerror(errno)).asPhrase)"
    }
}
