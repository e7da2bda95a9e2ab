// SPDX-License-Identifier: Apache-2.0

import CLinux
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
    let boot: String
    /// Makes sure that no other daemon uses the directory, and holds its lock.
    private let claim: @Sendable () throws(StoreFailure) -> Void
    private let use = Mutex(Use())
    /// The reader of the history.
    let reader = Mutex<HistoryReader?>(nil)

    struct Use {
        var file: StoreFile?
        /// Whether the file has a state that could not be read, and must not be replaced.
        var isUnread = false
        /// Damage that a reader has found.
        var damage: String?
        /// Since when changes may have come that are not saved: a file that is opened later begins with this moment.
        var beginning = Moment.now()
    }

    /// Creates a store that is not open.
    ///
    /// - Parameters:
    ///   - boot: identifies this boot of the machine.
    ///   - claim: makes sure that no other daemon uses the directory, before each batch is saved.
    public init(
        directory: String, boot: String, claim: @escaping @Sendable () throws(StoreFailure) -> Void = {}
    ) {
        path = directory + "/statusd.sqlite"
        self.boot = boot
        self.claim = claim
    }

    /// What ``open(at:)`` found.
    public struct Opening: Sendable {
        /// What the file had.
        public var contents = StoreContents()
        /// Why the file was set aside, and where it is now; nil if it was not.
        public var setAside: String?
        /// Whether there was a file, and no state in it.
        public var isEmpty = false
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
    ///
    /// - Parameter isAbandoned: whether nobody waits for the result any more, so that the file must stay as it is.
    public func open(at now: Moment, unless isAbandoned: () -> Bool = { false }) -> Opening {
        use.withLock { use in
            var opening = Opening()
            use.beginning = now
            let exists = Self.size(of: path) != nil
            do {
                let opened = try Self.open(path, boot: boot)
                (opening.contents, opening.setAside) = (opened.contents, opened.setAside)
                guard !isAbandoned() else { return opening }
                opening.isEmpty = exists && opened.contents.memory == nil && opened.setAside == nil
                try opened.file.begin(after: opened.contents, at: now)
                use.file = opened.file
            } catch {
                opening.failure = StoreFailure(error, at: path)
                if opening.contents.memory == nil { readOnly(&opening) }
            }
            use.isUnread = opening.isUnread
            return opening
        }
    }

    /// Reads a file that cannot be written, for example because the disk is full.
    private func readOnly(_ opening: inout Opening) {
        let hasLog = Self.size(of: path + "-wal") ?? 0 > 0
        for access in [.readOnly, hasLog ? .alone : .immutable] as [Database.Access] {
            guard let contents = try? StoreFile(reading: path, access).load(boot: boot) else { continue }
            return opening.contents = contents
        }
        // What is there may be read later.
        opening.isUnread = Self.size(of: path) ?? 0 > 0
    }

    /// The size of a file in bytes; nil if there is none.
    static func size(of path: String) -> Int? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_size : nil
    }

    /// Saves a batch; opens a new file if there is none any more.
    ///
    /// - Throws: ``StoreFailure``; if it `needsEverything`, the next batch must have all servers.
    public func save(_ batch: StoreBatch) throws(StoreFailure) {
        let failure: StoreFailure? = use.withLock { use in
            do {
                try claim()
                if let damage = use.damage.take() { throw SQLiteError(.damaged, damage) }
                guard let open = use.file, open.isInPlace else {
                    let wasOpen = use.file != nil
                    use.file = nil
                    // Connections of a process share the index of the log: one that was opened while the disk was read-only would keep it so.
                    let setAside = try reader.withLock { reader in
                        reader = nil
                        return try openAnew(&use)
                    }
                    return setAside == nil && wasOpen
                        ? .removed : StoreFailure(reason: setAside, needsEverything: true)
                }
                try open.save(batch, boot: boot)
                use.beginning = batch.log.notedAt
                limitLog(of: open)
                return nil
            } catch let error as SQLiteError where error.code == .damaged {
                use.file = nil
                return StoreFailure(reason: Self.setAside(path, "damaged", error.description), needsEverything: true)
            } catch {
                return StoreFailure(error, at: path)
            }
        }
        if let failure { throw failure }
    }

    /// Shortens the log if readers, one after the other, have kept SQLite from doing that: the next of them waits meanwhile.
    private func limitLog(of file: StoreFile) {
        guard Self.size(of: path + "-wal") ?? 0 > Self.longestLog else { return }
        reader.withLock { _ in file.shortenLog() }
    }

    /// Four times the length at which SQLite merges the log into the file, in bytes.
    private static let longestLog = 4 << 20

    /// Removes some old entries of the history; returns whether there may be more.
    public func prune(before oldest: Timestamp, keeping changes: Int) throws(StoreFailure) -> Bool {
        try attempt { file throws(SQLiteError) in try file.prune(before: oldest, keeping: changes) } ?? false
    }

    /// Looks for damage in the history, which takes seconds if it is large, beside all other calls; the next ``save(_:)`` deals with it.
    ///
    /// - Returns: whether there is damage.
    public func findsDamage() -> Bool {
        guard let file = try? StoreFile(reading: path, .readOnly) else { return false }
        do throws(SQLiteError) {
            try file.check("changes")
            return false
        } catch {
            guard error.code == .damaged else { return false }
            note(damage: error.description)
            return true
        }
    }

    /// Notes damage that a reader has found: the next ``save(_:)`` sets the file aside and requires everything, as long as that is known.
    func note(damage: String) { use.withLock { $0.damage = damage } }

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
                guard error.code == .damaged else { return .failure(StoreFailure(error, at: path)) }
                use.file = nil
                return .failure(
                    StoreFailure(reason: Self.setAside(path, "damaged", error.description), needsEverything: true))
            }
        }
        return try result.get()
    }
}
