// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusInterface
import StatusModel
import StatusMonitor
import Varlink

/// The stream of one `Watch` call: a reader of the log on one side, a Varlink stream on the other.
@EventLoop
final class EventStream {
    /// The number of servers written at a time, so that a long list exceeds the buffer's limit only slightly.
    static let serversPerPiece = 8
    /// The most servers of one event or reply.
    ///
    /// systemd's clients take at most 16 MiB of a reply (`VARLINK_BUFFER_MAX`).
    static let serversPerMessage = 1000

    private let monitor: StatusMonitor
    private let encoder: EventEncoder
    private var stream: VarlinkStream?
    /// The cursor of a snapshot of which some servers are written, and others follow in the next event.
    private var unfinished: Cursor?
    /// Whether something was written since the last keep-alive was due.
    private var wasBusy = true
    private var isAliveDue = false

    init(monitor: StatusMonitor, encoder: EventEncoder) {
        self.monitor = monitor
        self.encoder = encoder
    }

    /// Begins the stream; throws if there is nothing to follow.
    func begin(
        _ call: VarlinkCall, _ target: WatchTarget, _ parameters: MonitorInterface.WatchParameters,
        onClose: @escaping @EventLoop () -> Void
    ) throws(LedgerError) {
        // A client that reconnects learns at once that the stream works.
        isAliveDue = parameters.since != nil
        let watch = try monitor.watch(
            target, updates: parameters.updates ?? false, since: parameters.since,
            mayComeLater: parameters.mayComeLater ?? false
        ) { urgency in
            switch urgency {
            case .overdue: EventLoop.perform(with: self) { $0.stream?.wakeNow() }
            case .routine: EventLoop.perform(with: self) { $0.stream?.wake() }
            }
        }
        // This object and the stream keep each other alive until the stream is closed.
        stream = call.stream { writer in
            self.produce(target, from: watch, &writer)
        } onClose: {
            self.stream = nil
            onClose()
        }
        stream?.wake()
    }

    /// Sends a keep-alive if nothing was sent since the last call, so that a lost connection is noticed.
    func keepAlive() {
        if !wasBusy {
            isAliveDue = true
            stream?.wake()
        }
        wasBusy = false
    }

    /// Writes the next servers of a snapshot as the member `event`.
    private func snapshot(at cursor: Cursor, from watch: Watch) -> @EventLoop (inout JSONWriter) -> Bool {
        var hasBegun = false
        var count = 0
        return { writer in
            if !hasBegun {
                hasBegun = true
                writer.beginObject("event")
                writer.member("kind", EventKind.snapshot)
                writer.member("cursor", cursor)
                writer.beginArray("servers")
            }
            let isFull = count >= Self.serversPerMessage
            guard !isFull, let servers = watch.nextServers(limit: Self.serversPerPiece) else {
                writer.endArray()
                if isFull { writer.member("continues", true) }
                writer.endObject()
                self.unfinished = isFull ? cursor : nil
                return false
            }
            for server in servers { writer.value(server) }
            count += servers.count
            return true
        }
    }

    private func produce(_ target: WatchTarget, from watch: Watch, _ writer: inout JSONWriter) -> Bool {
        if let cursor = unfinished {
            stream?.writeInPieces(snapshot(at: cursor, from: watch))
            return false
        }
        if let event = watch.next() {
            wasBusy = true
            isAliveDue = false
            if event.kind == .snapshot, target.isOfMany {
                stream?.writeInPieces(snapshot(at: event.cursor, from: watch))
                return false
            }
            encoder.write(event, to: &writer)
            return true
        }
        guard isAliveDue else { return false }
        isAliveDue = false
        writer.member("event", Event(kind: .alive, cursor: monitor.cursor))
        return true
    }
}
