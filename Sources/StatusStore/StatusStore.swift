// SPDX-License-Identifier: Apache-2.0

public import StatusModel
public import StatusMonitor
import Synchronization

/// The daemon's store: a file in the state directory, and its replacement if it cannot be used.
///
/// All functions block, so they are called on a separate thread, one at a time. There is one rule for errors: a file
/// that is damaged, newer or of another program is set aside, and the next batch begins a new one. After any other
/// error, such as a full disk, the caller tries again later.
public final class StatusStore: Sendable {
    public let path: String
    /// Identifies this boot of the machine.
    let boot: String
    private let use = Mutex(Use())
    let reader = Mutex<HistoryReader?>(nil)

    private struct Use {
        /// The open file; nil if it could not be opened yet, or was set aside.
        var file: StoreFile?
        /// Whether the file has a state that could not be read and must not be replaced.
        var isUnread = false
        /// Damage that a reader of the history has found.
        var damage: SQLiteError?
        /// The time since which changes may be unsaved; the history of a file that is opened later begins here.
        var beginning = Moment.now()
    }

    /// Creates a store that is not open.
    ///
    /// - Parameter boot: identifies this boot of the machine.
    public init(directory: String, boot: String) {
        path = directory + "/statusd.sqlite"
        self.boot = boot
    }

    /// The result of ``open(at:)``.
    public struct Opening: Sendable {
        public var contents = StoreContents()
        /// Why the file was set aside, and where it is now; nil if it was not.
        public var setAside: String?
        /// Whether the file existed but contained no state.
        public var isEmpty = false
        /// Why nothing can be saved; nil if it can.
        public var failure: StoreFailure?

        public init() {}
    }

    /// Opens the file and reads it; sets it aside if it cannot be used.
    ///
    /// The file then counts as continued by this run of the daemon.
    public func open(at now: Moment) -> Opening {
        use.withLock { use in
            var opening = Opening()
            use.beginning = now
            let exists = Self.size(of: path) != nil
            do {
                do {
                    opening.contents = try open(&use)
                } catch {
                    guard let fault = Self.fault(error) else { throw error }
                    opening.setAside = try Self.setAside(path, fault, because: "\(StoreFailure(error, at: path))")
                    opening.contents = try open(&use)
                }
                opening.isEmpty = exists && opening.contents.memory == nil && opening.setAside == nil
            } catch {
                opening.failure = StoreFailure(error, at: path)
                // Reading needs no room on the disk.
                opening.contents = (try? StoreFile(reading: path, .alone).load(boot: boot)) ?? StoreContents()
                use.isUnread = opening.contents.memory == nil && Self.size(of: path) ?? 0 > 0
            }
            return opening
        }
    }

    /// Opens the file, and notes in it that this run continues the state of another one.
    private func open(_ use: inout Use) throws -> StoreContents {
        let (file, contents) = try Self.open(path, boot: boot)
        try file.begin(after: contents, at: use.beginning)
        use.file = file
        return contents
    }

    /// Saves a batch; if there is no file, begins one, for which the batch must contain everything.
    public func save(_ batch: StoreBatch) throws(StoreFailure) {
        try perform { use in
            if let damage = use.damage.take() { throw damage }
            let file = try use.file ?? openAnew(&use)
            try file.save(batch, boot: boot)
            use.beginning = batch.log.notedAt
            limitLog(of: file)
        }
    }

    /// Opens the file, whose state this run does not continue; the first batch replaces that state.
    private func openAnew(_ use: inout Use) throws -> StoreFile {
        if use.isUnread {
            // The file is kept until the disk works, because the next start may be able to read it.
            _ = try Self.open(path, boot: boot)
            throw StoreProblem.unread
        }
        // Connections of a process share the log's index. A connection from the time of a read-only disk would keep
        // the index read-only.
        reader.withLock { $0 = nil }
        _ = try open(&use)
        guard let file = use.file else { preconditionFailure("the file was not opened") }
        file.replacesState = true
        return file
    }

    /// Removes some old entries of the history; returns whether there may be more.
    public func prune(before oldest: Timestamp, keeping changes: Int) throws(StoreFailure) -> Bool {
        try perform { use in try use.file?.prune(before: oldest, keeping: changes) ?? false }
    }

    /// Performs an operation on the file, and sets it aside if it cannot be used.
    private func perform<Result: Sendable>(_ body: (inout Use) throws -> Result) throws(StoreFailure) -> Result {
        let result: Swift.Result<Result, StoreFailure> = use.withLock { use in
            do {
                return .success(try body(&use))
            } catch {
                return .failure(failure(error, &use))
            }
        }
        return try result.get()
    }

    private func failure(_ error: any Error, _ use: inout Use) -> StoreFailure {
        let failure = StoreFailure(error, at: path)
        guard let fault = Self.fault(error) else { return failure }
        use.file = nil
        // The reader has the file open.
        reader.withLock { $0 = nil }
        do throws(StoreFailure) {
            let setAside = try Self.setAside(path, fault, because: failure.description)
            use.isUnread = false
            return StoreFailure(setAside, .beginAnew)
        } catch {
            return error
        }
    }

    /// Shortens the log if successive readers have kept SQLite from doing so; the next reader waits meanwhile.
    private func limitLog(of file: StoreFile) {
        guard Self.size(of: path + "-wal") ?? 0 > Self.longestLog else { return }
        reader.withLock { _ in file.shortenLog() }
    }

    /// Four times the length at which SQLite merges the log into the file, in bytes.
    private static let longestLog = 4 << 20

    /// Notes damage that a reader has found: the next ``save(_:)`` sets the file aside.
    func note(damage: SQLiteError) { use.withLock { $0.damage = damage } }

    public func close() {
        // The last connection merges the log into the file.
        reader.withLock { $0 = nil }
        use.withLock { $0.file = nil }
    }
}
