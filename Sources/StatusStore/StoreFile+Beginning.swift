// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusMonitor

/// Continuing the state of another run of the daemon.
extension StoreFile {
    /// Notes that this run continues the state of another one.
    func begin(after contents: StoreContents, at now: Moment) throws(SQLiteError) {
        try database.transaction { () throws(SQLiteError) in
            try database.execute("UPDATE daemon SET is_complete = 0")
            try database.execute("DELETE FROM events")
            try database.execute("DELETE FROM changes WHERE id > \(Self.greatestEntry)")
            try beginRun(after: contents.memory, at: now)
        }
    }

    /// The greatest plausible number of an entry; a damaged row may have the greatest of all, and none could follow.
    private static let greatestEntry: Int64 = 1 << 53

    /// Notes, in a transaction, that this run begins, and when the previous run ended.
    private func beginRun(after memory: LedgerMemory?, at now: Moment) throws(SQLiteError) {
        let beginning = try continueBoot()
        // If the log is not complete, the previous run ended some time after its last save. If it was killed before its
        // first save, only its beginning is known.
        let ends = [memory.flatMap { $0.isComplete ? nil : $0.log.notedAt }, beginning].compactMap(\.self)
        let revision = memory?.log.revision ?? 0
        if let end = ends.max(by: { $0.wall < $1.wall }) {
            try append(Change(.stopped, at: end.wall, revision: revision), since: end)
        }
        if memory?.isOfThisBoot != true { (bootNumber, newestChange) = (0, .zero) }
        try append(Change(.started, at: now.wall, revision: revision), since: now)
        runNumber = database.lastRowID
    }

    /// Continues the boot of the newest entry; returns when the last run began if that is the newest entry.
    private func continueBoot() throws(SQLiteError) -> Moment? {
        let statement = try database.statement(
            "SELECT life, since_boot, kind, at FROM changes ORDER BY id DESC LIMIT 1")
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        var columns = Columns(statement)
        (bootNumber, newestChange) = (columns.integer() ?? 0, columns.duration() ?? .zero)
        let kind = columns.text().flatMap { ChangeKind(rawValue: $0) }
        guard kind == .started, let at = columns.time() else { return nil }
        return Moment(wall: at, boot: newestChange)
    }
}
