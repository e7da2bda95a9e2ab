// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// The progress of a reader through a snapshot of all servers, which it reads in pieces while they change.
///
/// It decides which events the snapshot contains, so that no event is lost or repeated. For each piece, it knows the
/// last server and the revision at which the piece was read.
struct SnapshotProgress {
    private struct Piece {
        /// Nil in the last piece, which covers all remaining servers.
        var last: ServerName?
        let revision: Int
    }

    private var pieces: [Piece] = []

    /// Whether the last server has been read.
    var isComplete: Bool { pieces.last.map { $0.last == nil } ?? false }

    var last: ServerName? { pieces.last?.last }

    /// Notes that the servers up to `last`, or all if nil, were read at a revision.
    mutating func note(upTo last: ServerName?, at revision: Int) {
        if pieces.last?.revision == revision {
            pieces[pieces.count - 1].last = last
        } else {
            pieces.append(Piece(last: last, revision: revision))
        }
    }

    /// Whether the snapshot contains an entry, or will contain it.
    func includes(_ entry: LogEntry) -> Bool {
        // A selection concerns two servers, and only one of them may have been read.
        guard entry.kind != .selected, let name = entry.snapshot?.state.name else { return false }
        guard let revision = revision(of: name) else { return true }
        return entry.revision <= revision
    }

    /// The newest entry of a server in the snapshot, if it is newer than the entry of its selection.
    func newestEntry(of name: ServerName, after revision: Int, in log: borrowing EventLog) -> Int? {
        guard let read = self.revision(of: name), read > revision else { return nil }
        for newer in (revision + 1...read).reversed() where log[newer].snapshot?.state.name == name { return newer }
        return nil
    }

    /// The revision at which a server was read; nil if it has not been read.
    func revision(of name: ServerName) -> Int? {
        // The pieces are sorted by their last names, so a binary search finds the first that reaches this one.
        var range = 0..<pieces.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            let isBefore = pieces[middle].last.map { $0 < name } ?? false
            range = isBefore ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound == pieces.count ? nil : pieces[range.lowerBound].revision
    }
}
