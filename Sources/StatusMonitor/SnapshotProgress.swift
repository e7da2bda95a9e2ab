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

    /// The revision of the snapshot itself.
    let beginning: Int
    private var pieces: [Piece] = []
    /// The newest entries in the snapshot of the servers that were selected while it was written; made when they are first asked for.
    private var newest: [ServerName: Int]?

    /// A snapshot of which nothing has been read.
    init(from beginning: Int) { self.beginning = beginning }

    /// More servers than these are not noted, since each costs memory for each reader.
    private static let maximumSelected = 64

    /// What a snapshot knows of a server beside an entry.
    enum Newest {
        /// Nothing newer.
        case none
        /// This entry is newer.
        case entry(Int)
        /// Too many servers were selected for that to be known.
        case tooMany
    }

    /// Whether the last server has been read.
    var isComplete: Bool { pieces.last.map { $0.last == nil } ?? false }

    /// The server that was read last.
    var last: ServerName? { pieces.last?.last }

    /// Notes that the servers up to `last`, or all, have been read at a revision.
    mutating func note(upTo last: ServerName?, at revision: Int) {
        newest = nil
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

    /// The newest entry of a server that is in the snapshot, if it is newer than one about its selection.
    mutating func newestEntry(of name: ServerName, after revision: Int, in log: borrowing EventLog) -> Newest {
        guard let read = self.revision(of: name), read > revision else { return .none }
        if newest == nil { newest = newestOfSelected(in: log) }
        guard let newest, newest.count <= Self.maximumSelected else { return .tooMany }
        return newest[name].map { $0 > revision ? .entry($0) : .none } ?? .none
    }

    private func newestOfSelected(in log: borrowing EventLog) -> [ServerName: Int] {
        let first = max(beginning + 1, log.oldest)
        guard let last = pieces.last?.revision, first <= last else { return [:] }
        var newest: [ServerName: Int] = [:]
        for revision in first...last {
            guard log[revision].kind == .event(.selected), let name = log[revision].snapshot?.state.name else {
                continue
            }
            newest[name] = revision
            if newest.count > Self.maximumSelected { return newest }
        }
        for revision in first...last {
            guard let name = log[revision].snapshot?.state.name, newest[name] != nil,
                revision <= self.revision(of: name) ?? -1
            else { continue }
            newest[name] = revision
        }
        return newest
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
