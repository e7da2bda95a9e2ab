// SPDX-License-Identifier: Apache-2.0

import StatusInterface
import StatusModel

/// Merges histories of several servers by time; it holds one change of each.
///
/// Each history keeps its own order, even if the clock was set back in between.
struct ChangeMerge<Replies: AsyncIteratorProtocol> where Replies.Element == HistoryReply {
    private var streams: [Replies]
    /// The next change of each stream; nil after its end.
    private var heads: [Change?]?

    init(_ streams: [Replies]) { self.streams = streams }

    /// The next change; nil after the last one of all streams.
    mutating func next() async throws -> Change? {
        var heads = try await takeHeads()
        defer { self.heads = heads }
        var first: Int?
        for (index, head) in heads.enumerated() {
            guard let head else { continue }
            if let earliest = first.flatMap({ heads[$0] }), !head.isBefore(earliest) { continue }
            first = index
        }
        guard let first else { return nil }
        let change = heads[first]
        heads[first] = try await streams[first].next(isolation: #isolation)?.change
        return change
    }

    private mutating func takeHeads() async throws -> [Change?] {
        if let heads { return heads }
        var first: [Change?] = []
        for index in streams.indices { first.append(try await streams[index].next(isolation: #isolation)?.change) }
        return first
    }
}

extension Change {
    fileprivate func isBefore(_ other: Change) -> Bool { (at, revision) < (other.at, other.revision) }
}
