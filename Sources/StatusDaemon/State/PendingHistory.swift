// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// The entries of the history that wait for the next batch.
///
/// Their number is limited. For a server with more changes, only the newest further change is kept, with the number of
/// those that it replaces. So the history always ends with the current state.
struct PendingHistory {
    /// The maximum number of entries of one server, and of all together; beyond it, each server has one more.
    private static let (mostOfServer, mostOfAll) = (20, 1024)

    struct Share: Sendable {
        /// The number of its entries.
        fileprivate var count = 0
        /// The newest of its further changes.
        fileprivate var newest: RecordedChange?

        /// Takes a change; returns whether it is an entry of its own.
        fileprivate mutating func take(_ change: RecordedChange, mayAdd: Bool) -> Bool {
            guard mayAdd, count < mostOfServer else {
                var change = change
                if let newest { change.omitted += newest.omitted + 1 }
                newest = change
                return false
            }
            count += 1
            return true
        }
    }

    private var entries: [RecordedChange] = []
    private var shares: [RecordedChange.Subject: Share] = [:]
    /// The number of entries that were dropped since a batch was last saved.
    private(set) var dropped = 0

    mutating func add(_ change: RecordedChange) -> ChangeReception {
        guard shares[change.subject, default: Share()].take(change, mayAdd: entries.count < Self.mostOfAll) else {
            return .held
        }
        entries.append(change)
        return .recorded
    }

    /// The entries of a batch.
    struct Batch: Sendable {
        fileprivate let entries: [RecordedChange]
        fileprivate let shares: [RecordedChange.Subject: Share]

        /// The entries in their order; to find that takes long if 100,000 servers have changed.
        var changes: [RecordedChange] {
            let newest = shares.values.compactMap(\.newest)
            return newest.isEmpty ? entries : (entries + newest).sorted { $0.revision < $1.revision }
        }
    }

    /// Takes all entries.
    mutating func take() -> Batch {
        defer { (entries, shares) = ([], [:]) }
        return Batch(entries: entries, shares: shares)
    }

    /// Takes back entries that could not be saved; if there are too many, the oldest are dropped.
    mutating func putBack(_ taken: Batch) {
        entries = taken.changes + entries
        let excess = max(0, entries.count - 4 * Self.mostOfAll)
        entries.removeFirst(excess)
        dropped += excess
    }

    /// Notes that the entries that were taken are saved.
    mutating func noteSaved() { dropped = 0 }

    /// Forgets everything, because no history is kept.
    mutating func removeAll() { self = PendingHistory() }
}

extension Change {
    init(_ change: RecordedChange) {
        var server = change.server
        if let silence = server?.silence, change.kind == .silenced { server?.message = silence.summary }
        self.init(
            change.kind, at: change.at, revision: change.revision, server: server, omitted: change.omitted,
            user: change.caller?.user)
    }
}
