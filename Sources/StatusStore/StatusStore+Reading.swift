// SPDX-License-Identifier: Apache-2.0

public import StatusModel
public import StatusMonitor
import Synchronization

/// Reading the history, on a separate connection, so that it does not wait for a batch that is being saved.
extension StatusStore {
    /// Reads a page of the history.
    ///
    /// - Parameters:
    ///   - previous: the page before; nil for the first one.
    ///   - isCancelled: called now and then; if it returns true, the call fails.
    /// - Throws: ``StoreFailure``.
    public func history(
        _ query: HistoryQuery, after previous: HistoryPage?, isCancelled: @escaping @Sendable () -> Bool
    ) throws(StoreFailure) -> HistoryPage {
        try read(isCancelled) { reader throws(SQLiteError) in
            try reader.page(query, after: previous)
        }
    }

    /// Sums up the history of a server in a period.
    ///
    /// - Parameters:
    ///   - buckets: the number of equal parts; at least 1.
    ///   - value: the name of a value whose averages are wanted; empty for the server's first one; nil for none.
    ///   - now: the current time; the time after it has no level.
    ///   - isCancelled: called now and then; if it returns true, the call fails.
    /// - Throws: ``StoreFailure``.
    public func summary(
        of server: ServerName, since: Timestamp, until: Timestamp, buckets: Int, value: String? = nil, now: Moment,
        isCancelled: @escaping @Sendable () -> Bool
    ) throws(StoreFailure) -> StatusSummary {
        try read(isCancelled) { reader throws(SQLiteError) in
            var summary = try reader.summary(
                of: server, since: since, until: until, buckets: buckets, now: now, boot: boot)
            if let value { try reader.addValue(value, to: &summary, now: now.wall) }
            return summary
        }
    }

    private func read<Result: Sendable>(
        _ isCancelled: @escaping @Sendable () -> Bool, _ body: (HistoryReader) throws(SQLiteError) -> Result
    ) throws(StoreFailure) -> Result {
        var damage: SQLiteError?
        let result: Swift.Result<Result, StoreFailure> = reader.withLock { reader in
            do throws(SQLiteError) {
                let open = if let reader { reader } else { try HistoryReader(path: path) }
                reader = open
                open.database.setCancellation(isCancelled)
                return .success(try body(open))
            } catch {
                if error.code != .interrupted { reader = nil }
                if error.code == .damaged { damage = error }
                return .failure(StoreFailure(error, at: path))
            }
        }
        // This happens outside the reader's lock, for which a save may wait.
        if let damage { note(damage: damage) }
        return try result.get()
    }
}
