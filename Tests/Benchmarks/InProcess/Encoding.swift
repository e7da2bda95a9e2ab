// SPDX-License-Identifier: Apache-2.0

import StatusInterface
import StatusModel
import Varlink

/// The JSON of the control interface.
enum Encoding {
    static var subjects: [Subject] {
        get throws {
            let event = try event
            let post = Array(#"{"server":"db","text":"Signed In as operator (session 0000000042)","level":"ok"}"#.utf8)
            return [
                Subject(name: "an event encoded", count: 300_000) { encode(event, $0) },
                Subject(name: "a post's parameters decoded", count: 300_000) { try decode(post, $0) },
            ]
        }
    }

    private static var event: Event {
        get throws {
            guard let name = ServerName("db") else { preconditionFailure("db is a name") }
            var state = ServerState(name: name, source: "push", phase: .loaded)
            let time = Timestamp(milliseconds: 1_795_268_000_123)
            let text = try StatusText("Signed In as operator (session 0000000042)")
            state.status = Status(text: text, level: .ok, changedAt: time, updatedAt: time)
            let cursor = Cursor(epoch: .random(), revision: 123_456)
            return Event(kind: .changed, cursor: cursor, server: state)
        }
    }

    private static func encode(_ event: Event, _ count: Int) {
        var bytes = 0
        for _ in 0..<count / 100 {
            var writer = JSONWriter(reserving: 65_536)
            writer.array { writer in for _ in 0..<100 { writer.value(event) } }
            bytes += writer.bytes.count
        }
        precondition(bytes > count * 100)
    }

    private static func decode(_ text: [UInt8], _ count: Int) throws {
        for _ in 0..<count {
            _ = try JSONReader.read(text) { reader throws(JSONError) in
                try MonitorInterface.PostParameters(from: &reader)
            }
        }
    }
}
