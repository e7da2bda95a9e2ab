// SPDX-License-Identifier: Apache-2.0

import Glibc
import SQLite
public import StatusModel
public import StatusMonitor
import Synchronization

/// The daemon's store: a file in the state directory, whatever happens to that file.
///
/// All functions block, so they are called on a thread of their own, one at a time.
public final class StatusStore: Sendable {
    /// The path of the file.
    public let path: String
    /// Identifies this boot of the machine.
    private let boot: String
    private let use = Mutex(Use())
    /// The reader of the history.
    let reader = Mutex<HistoryReader?>(nil)

    private struct Use {
        var file: StoreFile?
        /// Whether the file has a state that could not be read, and must not be replaced.
        var isUnread = false
    }

    /// Creates a store that is not open.
    public init(directory: String, boot: String) {
        path = directory + "/statusd.sqlite"
        self.boot = boot
    }

    /// What ``open(at:)`` found.
    public struct Opening: Sendable {
        /// What the file had.
        public var contents = StoreContents()
        /// Why the file was set aside, and where it is now; nil if it was not.
        public var setAside: String?
        /// Why nothing can be saved; nil if it can.
        public var failure: StoreFailure?
        /// Whether the file could not even be read; another attempt may succeed.
        public var isUnread = false

        /// The opening of an empty store.
        public init() {}
    }

    /// Opens the file and reads it; sets it aside if it cannot be used.
    ///
    /// From then on, the run of the daemon that is in the file goes on with this one.
    public func open(at now: Moment) -> Opening {
        use.withLock { use in
            var opening = Opening()
            do {
                let opened = try Self.open(path, boot: boot)
                (opening.contents, opening.setAside) = (opened.contents, opened.setAside)
                try opened.file.begin(after: opened.contents, at: now)
                use.file = opened.file
            } catch {
                opening.failure = StoreFailure(error)
                if opening.contents.memory == nil { readOnly(&opening) }
            }
            use.isUnread = opening.isUnread
            return opening
        }
    }

    /// Reads a file that cannot be written, for example because the disk is full.
    private func readOnly(_ opening: inout Opening) {
        let hasLog = Self.size(of: path + "-wal") > 0
        for access in hasLog ? [.readOnly] : [.readOnly, .immutable] as [Database.Access] {
            guard let contents = try? StoreFile(reading: path, access).load(boot: boot) else { continue }
            return opening.contents = contents
        }
        // What is there may be read later.
        opening.isUnread = Self.size(of: path) > 0
    }

    private static func size(of path: String) -> Int {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_size : 0
    }

    /// Saves a batch; opens a new file if there is none any more.
    ///
    /// - Throws: ``StoreFailure``; if it `needsEverything`, the next batch must have all servers.
    public func save(_ batch: StoreBatch) throws(StoreFailure) {
        let failure: StoreFailure? = use.withLock { use in
            do {
                guard let open = use.file, open.isInPlace else {
                    let reason = use.file == nil ? nil : "the file was removed or replaced"
                    use.file = nil
                    return StoreFailure(
                        reason: try openAnew(&use, at: batch.log.notedAt) ?? reason, needsEverything: true)
                }
                try open.save(batch, boot: boot)
                return nil
            } catch let error as SQLiteError where error.code == .damaged {
                use.file = nil
                return StoreFailure(reason: Self.setAside(path, "damaged", error.description), needsEverything: true)
            } catch {
                return StoreFailure(error)
            }
        }
        if let failure { throw failure }
    }

    /// Removes some old entries of the history; returns whether there may be more.
    public func prune(before oldest: Timestamp, keeping changes: Int) throws(StoreFailure) -> Bool {
        try attempt { file throws(SQLiteError) in try file.prune(before: oldest, keeping: changes) } ?? false
    }

    /// Looks for damage in the history.
    ///
    /// - Throws: ``StoreFailure``; the next ``save(_:)`` opens a new file if it was set aside.
    public func checkHistory() throws(StoreFailure) {
        _ = try attempt { file throws(SQLiteError) in try file.check("changes") }
    }

    /// Closes the file.
    public func close() {
        // The last connection merges the log into the file.
        reader.withLock { $0 = nil }
        use.withLock { $0.file = nil }
    }

    private func attempt<Result: Sendable>(
        _ body: (StoreFile) throws(SQLiteError) -> Result
    ) throws(StoreFailure) -> Result? {
        let result: Swift.Result<Result?, StoreFailure> = use.withLock { use in
            guard let open = use.file else { return .success(nil) }
            do throws(SQLiteError) {
                return .success(try body(open))
            } catch {
                guard error.code == .damaged else { return .failure(StoreFailure(error)) }
                use.file = nil
                return .failure(
                    StoreFailure(reason: Self.setAside(path, "damaged", error.description), needsEverything: true))
            }
        }
        return try result.get()
    }
}

// MARK: - Opening

extension StatusStore {
    private struct Opened {
        let file: StoreFile
        let contents: StoreContents
        let setAside: String?
    }

    /// Opens and reads the file; if it cannot be used, sets it aside and creates another one.
    private static func open(_ path: String, boot: String) throws -> Opened {
        do {
            let (file, contents) = try read(path, boot)
            return Opened(file: file, contents: contents, setAside: nil)
        } catch {
            guard let (suffix, reason) = problem(error, with: path) else { throw error }
            let setAside = setAside(path, suffix, reason)
            let (file, contents) = try read(path, boot)
            return Opened(file: file, contents: contents, setAside: setAside)
        }
    }

    private static func read(_ path: String, _ boot: String) throws -> (StoreFile, StoreContents) {
        let file = try StoreFile(at: path)
        try file.check()
        return (file, try file.load(boot: boot))
    }

    /// How to call a file that cannot be used, and why it cannot; nil if the problem may not be the file's.
    private static func problem(_ error: any Error, with path: String) -> (suffix: String, reason: String)? {
        switch error {
        case StoreProblem.newer: ("newer", "\(StoreFailure(error))")
        case StoreProblem.foreign: ("foreign", "\(StoreFailure(error))")
        case let error as SQLiteError where error.code == .damaged: ("damaged", error.description)
        case let error as SQLiteError where error.code == .inaccessible && isUnusable(path):
            ("unreadable", error.description)
        default: nil
        }
    }

    /// Whether the file, or one beside it, cannot be opened because of what it is or whose it is.
    ///
    /// Otherwise the disk, or a limit, is the reason, which may pass.
    private static func isUnusable(_ path: String) -> Bool {
        ["", "-wal", "-shm"].contains { suffix in
            var status = stat()
            guard lstat(path + suffix, &status) == 0 else { return false }
            return status.st_mode & S_IFMT != S_IFREG || access(path + suffix, R_OK | W_OK) != 0 && errno == EACCES
        }
    }

    /// Opens the file that is there now, or a new one, without what another run has left in it; returns what was set aside.
    private func openAnew(_ use: inout Use, at now: Moment) throws -> String? {
        var unread: String?
        if use.isUnread {
            // Until the disk works, the file stays, for the case that the next start can read it.
            _ = try Self.open(path, boot: boot)
            let setAside = Self.setAside(path, "unread", "it could not be read when statusd started")
            guard Self.size(of: path) == 0 else { throw StoreFailure(reason: setAside, needsEverything: false) }
            unread = setAside
            use.isUnread = false
        }
        let opened = try Self.open(path, boot: boot)
        opened.file.replacesState = true
        try opened.file.begin(after: opened.contents, at: now)
        use.file = opened.file
        return unread ?? opened.setAside
    }

    /// A name for a file that is set aside.
    ///
    /// The first two of a kind stay, because they may have what is missed; later ones replace the third, so the disk is not filled.
    private static func unusedName(_ name: String) -> String {
        let names = [name, name + ".2", name + ".3"]
        var status = stat()
        return names.first { lstat($0, &status) != 0 } ?? names[names.count - 1]
    }

    /// Renames a file that cannot be used, with its log; returns what was done, as one phrase.
    private static func setAside(_ path: String, _ suffix: String, _ reason: String) -> String {
        let target = unusedName("\(path).\(suffix)")
        unlink(path + "-shm")
        unlink(target + "-wal")
        guard rename(path, target) == 0 else {
            return "\(reason); it cannot be renamed: \(String(cString: strerror(errno)))"
        }
        rename(path + "-wal", target + "-wal")
        return "\(reason); it is now \(target)"
    }
}

extension StoreFile {
    /// Notes that this run goes on with what another one has left.
    fileprivate func begin(after contents: StoreContents, at now: Moment) throws(SQLiteError) {
        try database.transaction { () throws(SQLiteError) in
            try database.execute("UPDATE daemon SET is_complete = 0")
            try database.execute("DELETE FROM events")
            // If the log is not complete, the run ended some time after it was saved last.
            let isKilled = contents.memory.map { !$0.isComplete } ?? false
            try beginRun(
                at: now, after: isKilled ? contents.memory?.log.notedAt.wall : nil,
                isOfThisBoot: contents.memory?.isOfThisBoot ?? false,
                revision: contents.memory?.log.revision ?? 0)
        }
    }
}

/// Why nothing was saved.
public struct StoreFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// The reason as one phrase; nil if there is nothing to report.
    public var reason: String?
    /// Whether a new file was opened, so that the next batch must have everything.
    public var needsEverything = false

    init(reason: String?, needsEverything: Bool) {
        self.reason = reason
        self.needsEverything = needsEverything
    }

    init(_ error: any Error) {
        switch error {
        case StoreProblem.newer(let version): reason = "a newer statusd has written it (version \(version))"
        case StoreProblem.foreign: reason = "another program has written it"
        case let error as StoreFailure: self = error
        case let error as SQLiteError where error.code == .outOfDescriptors:
            reason = "\(error); raise LimitNOFILE= of the service"
        default: reason = "\(error)"
        }
    }

    public var description: String { reason ?? "a new file" }
}
