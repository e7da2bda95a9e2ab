// SPDX-License-Identifier: Apache-2.0

import StatusInterface
import Varlink

/// Writes the reply of `Reload` in pieces.
///
/// The reply may name tens of thousands of servers, and many slow callers may wait for it.
struct ReloadPieces {
    private static let namesPerPiece = 128

    private let reply: ReloadReply
    private let lists: [(member: StaticString, names: [String])]
    /// The current list, and how many of its names have been written.
    private var (list, written) = (0, 0)

    init(_ reply: ReloadReply) {
        self.reply = reply
        lists = [("added", reply.added), ("changed", reply.changed), ("removed", reply.removed)]
    }

    /// Writes the next members of the reply, or a part of one; returns whether there is more.
    mutating func writeNext(to writer: inout JSONWriter) -> Bool {
        guard list < lists.count else {
            writer.member("failed", reply.failed)
            writer.member("warnings", reply.warnings)
            writer.member("selected", reply.selected)
            writer.member("deselected", reply.deselected)
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
