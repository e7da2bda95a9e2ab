// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusInterface
import StatusModel
import Testing
import Varlink

@testable import StatusDaemon

@Suite("Encoding events for several streams") struct EventEncoderTests {
    @Test("streams at different positions in the log get the same events as a single stream", arguments: [1, 2])
    @EventLoop func sameForAll(streams: Int) throws {
        let encoder = EventEncoder()
        encoder.streamCount = streams
        // The second and third share a slot, and the second is written again after the third.
        for revision in [7, 8, 8 + 256, 8, 7, 8] {
            let event = try event(at: revision)
            var shared = JSONWriter()
            shared.object { encoder.write(event, to: &$0) }
            var own = JSONWriter()
            own.object { $0.member("event", event) }
            #expect(shared.bytes == own.bytes)
        }
    }

    @Test("an event that differs for another stream is encoded for each")
    @EventLoop func differentStates() throws {
        let encoder = EventEncoder()
        encoder.streamCount = 2
        for phase in [Phase.loaded, .failed, .loaded] {
            var state = ServerState(name: try #require(ServerName("db")), source: "push", phase: phase)
            state.revision = 3
            let event = Event(kind: .selected, cursor: Cursor(epoch: .none, revision: 3), server: state)
            var writer = JSONWriter()
            writer.object { encoder.write(event, to: &$0) }
            #expect(String(decoding: writer.bytes, as: UTF8.self).contains(#""phase":"\#(phase)""#))
        }
    }

    @Test("a snapshot of a revision is not used for the event of that revision")
    @EventLoop func snapshotsAreOwn() throws {
        let encoder = EventEncoder()
        encoder.streamCount = 2
        let (changed, snapshot) = (try event(.changed, at: 3), try event(.snapshot, at: 3))
        var writer = JSONWriter()
        writer.object { encoder.write(changed, to: &$0) }
        writer = JSONWriter()
        writer.object { encoder.write(snapshot, to: &$0) }
        #expect(String(decoding: writer.bytes, as: UTF8.self).contains(#""kind":"snapshot""#))
    }

    private func event(_ kind: EventKind = .changed, at revision: Int) throws -> Event {
        var state = ServerState(name: try #require(ServerName("db")), source: "push", phase: .loaded)
        state.revision = revision
        return Event(kind: kind, cursor: Cursor(epoch: .none, revision: revision), server: state)
    }
}
