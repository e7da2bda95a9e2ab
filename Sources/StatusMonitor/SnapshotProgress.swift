// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// How far a reader has read a snapshot of all servers, which it does piece by piece while they change.
///
/// It tells which events the snapshot has in it, so that none is lost and none is told twice: for each piece it knows up to which server
/// it reaches, and at which revision it was read.
struct SnapshotProgress {
    private struct Piece {
        /// Nil in the last one, which is of all servers that there may still have been.
        var last: ServerName?
        let revision: Int
    }

    private var pieces: [Piece] = []

    /// Whether the last server has been read.
    var isComplete: Bool { pieces.last.map { $0.last == nil } ?? false }

    /// The server that was read last.
    var last: ServerName? { pieces.last?.last }

    /// Notes that the servers up to `last`, or all, have been read at a revision.
    mutating func note(upTo last: ServerName?, at revision: Int) {
        if pieces.last?.revision == revision {
            pieces[pieces.count - 1].last = last
        } else {
            pieces.append(Piece(last: last, revision: revision))
        }
    }

    /// Whether what an entry says is in the snapshot, or will be.
    func includes(_ entry: LogEntry, _ kind: EventKind) -> Bool {
        // A selection is about two servers, of which one may have been read and the other one not.
        guard kind != .selected, let name = entry.snapshot?.state.name else { return false }
        guard let revision = revision(of: name) else { return true }
        return entry.revision <= revision
    }

    /// The revision at which a server was read; nil if it has not been read yet.
    func revision(of name: ServerName) -> Int? {
        // The pieces are in the order of their last names, so the first that reaches to this one is found by halves.
        var range = 0..<pieces.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            let isBefore = pieces[middle].last.map { $0 < name } ?? false
            range = isBefore ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound == pieces.count ? nil : pieces[range.lowerBound].revision
    }
}
