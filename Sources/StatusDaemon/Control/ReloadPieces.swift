// SPDX-License-Identifier: Apache-2.0

import StatusInterface
import Varlink

/// The reply of `Reload`, piece by piece: it may name tens of thousands of servers, and many callers may wait for it and not read.
struct ReloadPieces {
    private static let namesPerPiece = 128

    private let reply: ReloadReply
    private let lists: [(member: StaticString, names: [String])]
    /// The list that comes next, and how much of it has been written.
    private var (list, written) = (0, 0)

    init(_ reply: ReloadReply) {
        self.reply = reply
        lists = [("added", reply.added), ("changed", reply.changed), ("removed", reply.removed)]
    }

    /// Writes the next members of the reply's parameters, or a part of one; returns whether there is more.
    mutating func writeNext(to writer: inout JSONWriter) -> Bool {
        guard list < lists.count else {
            writer.member("failed", reply.failed)
            writer.member("warnings", reply.warnings)
            return false
        }
        let (member, names) = lists[list]
        if written == 0 { writer.beginArray(member) }
        let piece = names[written...].prefix(Self.namesPerPiece)
        for name in piece { writer.value(name) }
        written += piece.count
        if written == names.count {
            writer.endArray()
            (list, written) = (list + 1, 0)
        }
        return true
    }
}
