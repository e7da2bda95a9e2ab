// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

/// A reply that is written in pieces, as its client reads it.
///
/// The whole reply is therefore never in memory.
struct MessageInPieces {
    private let continues: Bool
    private let writePiece: @EventLoop (inout JSONWriter) -> Bool
    /// Whether the next member needs a comma; nil before the first piece.
    private var needsComma: Bool?

    /// Creates a reply.
    ///
    /// - Parameters:
    ///   - continues: whether more replies to the same call follow.
    ///   - writePiece: writes the next members of the parameters, or part of one; returns whether there is more.
    init(continues: Bool, _ writePiece: @escaping @EventLoop (inout JSONWriter) -> Bool) {
        self.continues = continues
        self.writePiece = writePiece
    }

    /// Writes the next piece, and the NUL after the last one; returns whether there is more.
    @EventLoop
    mutating func write(to writer: inout JSONWriter) -> Bool {
        if let needsComma { writer.needsComma = needsComma } else { begin(&writer) }
        let hasMore = writePiece(&writer)
        if !hasMore { end(&writer) }
        needsComma = writer.needsComma
        return hasMore
    }

    private func begin(_ writer: inout JSONWriter) {
        writer.needsComma = false
        writer.open(UInt8(ascii: "{"))
        writer.beginObject("parameters")
    }

    private func end(_ writer: inout JSONWriter) {
        writer.endObject()
        if continues { writer.member("continues", true) }
        writer.endObject()
        writer.output.append(0)
    }
}
