// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import SQLite
import StatusModel

/// Why nothing was saved.
public struct StoreFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// The reason as one phrase; nil if there is nothing to report.
    public var reason: String?
    /// Whether a new file was opened, so that the next batch must have everything.
    public var needsEverything = false

    /// The file was removed or replaced while the daemon ran; another one is open now.
    public static let removed = StoreFailure(reason: "the file was removed or replaced", needsEverything: true)

    /// A failure that a caller has noticed.
    public init(_ reason: String) { self.reason = reason }

    init(reason: String?, needsEverything: Bool) {
        self.reason = reason
        self.needsEverything = needsEverything
    }

    /// The failure of an operation on the file at `path`.
    init(_ error: any Error, at path: String) {
        switch error {
        case StoreProblem.newer(let version): reason = "a newer statusd has written it (version \(version))"
        case StoreProblem.foreign: reason = "another program has written it"
        case StoreProblem.unusable(let problem): reason = problem
        case let error as StoreFailure: self = error
        case let error as SQLiteError where error.code == .inaccessible:
            reason = Self.problem(ofDirectoryOf: path) ?? StatusStore.unusability(at: path) ?? error.description
        case let error as SQLiteError where error.code == .busy: reason = "another program has locked it (\(error))"
        case let error as SQLiteError where error.code == .outOfDescriptors:
            reason = "\(error); raise LimitNOFILE= of the service"
        default: reason = "\(error)"
        }
    }

    /// Why the directory of the file cannot be used, for which SQLite has only general words; nil if it can.
    private static func problem(ofDirectoryOf path: String) -> String? {
        let directory = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        var status = stat()
        guard stat(directory, &status) == 0 else {
            return "the directory cannot be reached: \(String(cString: strerror(errno)).asPhrase)"
        }
        // The service's sandbox still leads to it.
        if status.st_nlink == 0 { return "the directory was removed; restart statusd" }
        guard access(directory, W_OK | X_OK) != 0 else { return nil }
        return "the directory cannot be written: \(String(cString: strerror(errno)).asPhrase)"
    }

    public var description: String { reason ?? "a new file" }
}
