// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusModel
import Varlink

/// Writes events as JSON, and encodes an event only once for several streams.
///
/// Streams seldom differ in an event's contents. An exception: an event that selects a server repeats the state from a
/// snapshot that the stream has just written. Snapshots and gaps belong to one stream.
@EventLoop
final class EventEncoder {
    private struct EncodedEvent {
        var revision = -1
        /// The contents, which may differ for another stream.
        var snapshot: ServerSnapshot?
        var json: [UInt8] = []
    }

    /// The number of events to keep, a power of two; a stream writes fewer before another stream's turn.
    private static let capacity = 256

    /// The newest encoded events, by the low bits of their revision.
    private var recent: [EncodedEvent] = []

    /// The number of open streams; a single one writes directly.
    var streamCount = 0 {
        didSet { if streamCount < 2 { recent = [] } }
    }

    /// Writes an event as the member `event`.
    func write(_ event: Event, to writer: inout JSONWriter) {
        guard streamCount > 1, event.snapshot != nil, event.kind != .snapshot else {
            return writer.member("event", event)
        }
        if recent.isEmpty { recent = Array(repeating: EncodedEvent(), count: Self.capacity) }
        let place = event.cursor.revision & (Self.capacity - 1)
        if recent[place].revision != event.cursor.revision || recent[place].snapshot !== event.snapshot {
            var own = JSONWriter(reserving: 512)
            own.value(event)
            recent[place] = EncodedEvent(revision: event.cursor.revision, snapshot: event.snapshot, json: own.bytes)
        }
        writer.member("event", raw: recent[place].json)
    }
}
