// SPDX-License-Identifier: Apache-2.0

import StatusInterface
import Testing
import Varlink

@testable import StatusDaemon

@Suite("The reply of Reload, in pieces") struct ReloadPiecesTests {
    private let reply: ReloadReply = {
        let failure = Failure(file: "/a.yaml", line: 3, server: nil, reason: "wrong")
        return ReloadReply(
            added: (0..<1000).map { "a\($0)" }, changed: [], removed: ["gone"], failed: [failure], warnings: [failure])
    }()

    @Test("contains the whole reply, in order")
    func complete() throws {
        var pieces = ReloadPieces(reply)
        var writer = JSONWriter()
        writer.object { writer in
            while pieces.writeNext(to: &writer) {}
        }
        let read = try JSONReader.read(writer.bytes) { reader throws(JSONError) in try ReloadReply(from: &reader) }
        #expect(read.added == reply.added)
        #expect(read.changed == [])
        #expect(read.removed == ["gone"])
        #expect(read.failed == reply.failed)
        #expect(read.warnings == reply.warnings)
    }

    @Test("is never in memory as a whole: a piece has a few KiB at most")
    func bounded() {
        var pieces = ReloadPieces(reply)
        var hasMore = true
        while hasMore {
            var writer = JSONWriter()
            writer.object { hasMore = pieces.writeNext(to: &$0) }
            #expect(writer.bytes.count < 4096)
        }
    }
}
