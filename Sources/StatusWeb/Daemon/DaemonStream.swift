// SPDX-License-Identifier: Apache-2.0

#if Web
import Glibc
import NIOCore
import StatusInterface
import StatusModel
import Varlink

/// The stream of all events from the daemon, which begins again when it ends.
final class DaemonStream {
    /// The silence after which the daemon counts as cut off.
    private static let longestSilence = TimeAmount.milliseconds(1500)
    private static let pauses = (first: TimeAmount.milliseconds(250), longest: TimeAmount.seconds(2))

    private let connect: DaemonConnector
    private let loop: any NIOCore.EventLoop
    private(set) var board = Board()
    /// The servers of a snapshot that is arriving.
    private var arriving = ShownServers()
    private var filling: DaemonCalls?
    /// Since when the daemon has been cut off, by the wall clock; nil while it answers.
    private(set) var lostSince: Timestamp?
    private var watch: DaemonCalls?
    private var probe: DaemonCalls?
    private var answeredAt: NIODeadline
    private var pause = pauses.first
    /// Called with each frame that visitors need; nil if they need a snapshot.
    var onFrame: (ByteBuffer?) -> Void = { _ in }
    /// Called after each event of a hub, as the numbers of servers may have changed.
    var onCounts: () -> Void = {}
    /// Called when the daemon is cut off, and when it is back.
    var onConnection: () -> Void = {}

    init(_ connect: @escaping DaemonConnector, loop: any NIOCore.EventLoop) {
        (self.connect, self.loop, answeredAt) = (connect, loop, loop.now)
    }

    /// Whether events come as they happen.
    var isLive: Bool { lostSince == nil && board.cursor != nil }

    // MARK: Events

    func start() {
        let parameters = MonitorInterface.WatchParameters(all: true, updates: true, since: board.cursor)
        let watch = DaemonCalls(
            [DaemonCalls.message(MonitorInterface.qualified("Watch"), parameters, more: true)],
            onReply: { [weak self] in self?.take($0) }, onEnd: { [weak self] _ in self?.ended() })
        arriving = ShownServers()
        self.watch = watch
        watch.start(with: connect)
    }

    private func take(_ reply: DaemonCalls.Reply) {
        guard reply.error == nil, let found = Self.event(reply.parameters) else {
            // Without events, the page must not look as if it were live.
            watch?.cancel()
            return ended()
        }
        answered()
        pause = Self.pauses.first
        if found.kind == .snapshot {
            for state in found.servers ?? [] { _ = arriving.note(state) }
            if found.continues { return }
            board.begin(arriving, at: found.cursor)
            arriving = ShownServers()
            return onFrame(nil)
        }
        let wasHub = board.shown.isHub
        let frame = board.take(found)
        if board.shown.isHub != wasHub { return onFrame(nil) }
        if let frame { onFrame(frame) }
        if wasHub { onCounts() }
    }

    private static func server(_ text: [UInt8]) -> ServerState? {
        try? JSONReader.read(text) { reader throws(JSONError) in
            reader.skipsUnknownMembers = true
            return try ServerState(from: &reader)
        }
    }

    /// The names of the hosts of which something has changed unseen since the last call.
    func takeTouchedHosts() -> [ServerName] { board.takeTouchedHosts() }

    /// How many servers are asked for at once.
    private static let mostFilled = 64

    /// Asks for the servers that are not shown although there is room for them.
    private func fill() {
        guard isLive, filling == nil else { return }
        let names = board.shown.missing(limit: Self.mostFilled)
        if names.isEmpty { return }
        let calls = DaemonCalls(
            names.map {
                DaemonCalls.message(
                    MonitorInterface.qualified("Describe"), MonitorInterface.DescribeParameters(server: $0.rawValue))
            },
            onReply: { [weak self] reply in
                guard let self, reply.error == nil, let text = API.member("server", of: reply.parameters),
                    var state = Self.server(text)
                else { return }
                state.check = nil
                if let frame = board.fill(state) { onFrame(frame) }
                onCounts()
            }, onEnd: { [weak self] _ in self?.filling = nil })
        filling = calls
        calls.start(with: connect)
    }

    private static func event(_ parameters: [UInt8]) -> Event? {
        try? JSONReader.read(parameters) { reader throws(JSONError) in
            reader.skipsUnknownMembers = true
            return try MonitorInterface.WatchReply(from: &reader).event
        }
    }

    private func ended() {
        watch = nil
        lost()
        let stream = NIOLoopBound(self, eventLoop: loop)
        loop.scheduleTask(in: pause) { stream.value.start() }
        pause = min(pause + pause, Self.pauses.longest)
    }

    /// The calls that ask the daemon for the events after a cursor, up to the newest one here; they pass nil if some
    /// are missing.
    func events(
        after cursor: Cursor, then body: @escaping ([(cursor: Cursor, frame: ByteBuffer)]?) -> Void
    ) -> DaemonCalls {
        let target = board.cursor?.revision ?? 0
        let parameters = MonitorInterface.WatchParameters(all: true, updates: true, since: cursor)
        var found: [(cursor: Cursor, frame: ByteBuffer)] = []
        var calls: DaemonCalls?
        let watch = DaemonCalls(
            [DaemonCalls.message(MonitorInterface.qualified("Watch"), parameters, more: true)],
            onReply: { reply in
                guard reply.error == nil, let event = Self.event(reply.parameters), event.kind != .gap,
                    event.kind != .snapshot, found.count < Board.maximumEvents
                else {
                    calls?.cancel()
                    return body(nil)
                }
                if event.kind != .alive { found.append((event.cursor, Frame.event(event))) }
                guard event.cursor.revision >= target else { return }
                calls?.cancel()
                body(found)
            }, onEnd: { _ in body(nil) })
        calls = watch
        return watch
    }

    // MARK: Signs of life

    /// Asks the daemon whether it answers; called each second while somebody looks.
    func ask() {
        fill()
        if watch != nil, loop.now - answeredAt > Self.longestSilence, probe != nil { lost() }
        guard probe == nil, watch != nil else { return }
        let probe = DaemonCalls(
            [DaemonCalls.message("org.varlink.service.GetInfo", NoMembers())],
            onReply: { [weak self] _ in self?.answered() }, onEnd: { [weak self] _ in self?.probe = nil })
        self.probe = probe
        probe.start(with: connect)
    }

    private func answered() {
        answeredAt = loop.now
        guard lostSince != nil, watch != nil else { return }
        lostSince = nil
        onConnection()
    }

    private func lost() {
        guard lostSince == nil else { return }
        lostSince = Clock.now
        onConnection()
    }
}

enum Clock {
    /// The time by the wall clock.
    static var now: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}

/// Messages of an event stream (server-sent events).
enum Frame {
    /// An event of the daemon, with its position as the identifier.
    ///
    /// - Parameter hidden: the servers that are not shown from now on.
    static func event(_ event: Event, hidden: [ServerName] = [], isNumbered: Bool = true) -> ByteBuffer {
        frame(id: isNumbered ? event.cursor : nil) { writer in
            event.writeMembers(to: &writer)
            if !hidden.isEmpty { writer.member("hidden", hidden) }
        }
    }

    /// The numbers of all servers by level, how many that are not ok are not shown, and the hosts of which something
    /// has changed unseen.
    static func counts(_ servers: ShownServers, hosts: [ServerName]) -> ByteBuffer {
        frame { writer in
            writer.member("kind", "counts")
            writer.member("counts") { writer in
                writer.member("ok", servers.count(of: .ok))
                writer.member("warning", servers.count(of: .warning))
                writer.member("unknown", servers.count(of: .unknown))
                writer.member("critical", servers.count(of: .critical))
                writer.member("none", servers.count(of: nil))
            }
            writer.member("more", servers.unshownCount)
            writer.member("hosts", hosts)
        }
    }

    static func alive() -> ByteBuffer { frame { $0.member("kind", "alive") } }

    static func disconnected(since: Timestamp) -> ByteBuffer {
        frame { writer in
            writer.member("kind", "disconnected")
            writer.member("since", since)
        }
    }

    static func frame(id: Cursor? = nil, _ members: (inout JSONWriter) -> Void) -> ByteBuffer {
        var writer = JSONWriter()
        writer.object { writer in
            members(&writer)
            // The visitor's clock may be wrong.
            writer.member("time", Clock.now)
        }
        var buffer = ByteBuffer()
        if let id { buffer.writeString("id: \(id.epoch).\(id.revision)\n") }
        buffer.writeString("data: ")
        buffer.writeBytes(writer.bytes)
        buffer.writeString("\n\n")
        return buffer
    }
}
#endif
