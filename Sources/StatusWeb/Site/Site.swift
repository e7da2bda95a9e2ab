// SPDX-License-Identifier: Apache-2.0

#if Web
import EventLoopIO
import NIOCore
import NIOHTTP1
import StatusInterface
import StatusModel
import Varlink

/// What is served, and who may do what.
final class Site {
    struct Settings {
        /// The names of this site, besides addresses and those of this host.
        var hosts: Set<String> = []
        /// Whether visitors whom a proxy has authenticated may refresh, select and silence.
        var hasActions = false
        /// The name of this host.
        var hostName = ""
    }

    let settings: Settings
    private let loop: any NIOCore.EventLoop
    private let stream: DaemonStream
    let daemon: DaemonQueue
    /// The calls that read the history, for which the others do not wait.
    let histories: DaemonQueue
    private let files = PageFiles()
    /// Events that have not been sent yet: with many streams, each system call sends those of some time.
    private var held = ByteBuffer()
    private var sendingHeld: Scheduled<Void>?
    private var sendingCounts: Scheduled<Void>?
    private static let countsTime = TimeAmount.milliseconds(250)
    private static let fewStreams = 32
    /// More bytes at once than a visitor has room for would look as if it did not read.
    private static let mostHeld = 16 << 10
    private static let holdTime = TimeAmount.milliseconds(50)
    /// The last snapshot: for visitors who may act, and for others.
    private var cached: (cursor: Cursor, frames: [Bool: ByteBuffer])?
    private(set) lazy var visitors = Visitors(self, limits: limits, loop: loop)
    private let limits: HTTPLimits

    init(
        _ settings: Settings, limits: HTTPLimits, daemon connect: @escaping DaemonConnector,
        loop: any NIOCore.EventLoop
    ) {
        (self.settings, self.limits, self.loop) = (settings, limits, loop)
        stream = DaemonStream(connect, loop: loop)
        (daemon, histories) = (DaemonQueue(connect), DaemonQueue(connect))
        stream.onFrame = { [unowned self] in take($0) }
        stream.onCounts = { [unowned self] in sendCountsSoon() }
        stream.onConnection = { [unowned self] in
            sendHeld()
            for visitor in visitors.streams.values { visitor.sendEvent(connectionFrame) }
        }
    }

    func start() { stream.start() }

    // MARK: Requests

    /// Answers a request, now or later.
    func answer(_ request: Request, to visitor: Visitor) {
        if let refusal = refusal(of: request.head) { return visitor.send(refusal, to: request) }
        guard let target = RequestTarget(request.head.uri) else {
            return visitor.send(.text(.badRequest, "the address is invalid"), to: request)
        }
        let reads = request.head.method == .GET || request.head.method == .HEAD
        let api = API(site: self, target: target, request: request, visitor: visitor, loop: loop)
        if target.path.first == "api" {
            return reads ? api.read() : api.act()
        }
        guard reads else { return visitor.send(Self.notAllowed("GET, HEAD"), to: request) }
        switch (target.path.first, target.path.count) {
        case ("events", 1): beginStream(target, request, visitor)
        case ("health", 1): api.health()
        case ("metrics", 1): api.metrics()
        case ("badge", 2): api.badge(target.path[1])
        default: visitor.send(files.response(to: target.path, request.head), to: request)
        }
    }

    static func notAllowed(_ methods: String) -> Response {
        var response = Response.text(.methodNotAllowed, "only \(methods) can be used here")
        response.fields = [("Allow", methods)]
        return response
    }

    /// Why a request is not for this site: a page of another one could have made the browser send it (DNS rebinding).
    private func refusal(of head: HTTPRequestHead) -> Response? {
        let names = head.headers["host"]
        guard names.count == 1 || names.isEmpty && head.version == .http1_0 else {
            return .text(.badRequest, "a request needs one “Host”")
        }
        guard let name = names.first.map(Self.hostName), !isOwn(name) else { return nil }
        return .text(
            .misdirectedRequest,
            "this site is not called “\(VisibleText.excerpt(name, bytes: 100))”; start statusd-web with --host")
    }

    private func isOwn(_ name: String) -> Bool {
        name == "localhost" || name.hasSuffix(".localhost") || name == settings.hostName.lowercased()
            || settings.hosts.contains(name) || Resolver.numericAddress(name, port: 0) != nil
    }

    /// The name in a `Host` field, without the port and the brackets of an address.
    private static func hostName(_ field: String) -> String {
        if field.hasPrefix("[") { return String(field.dropFirst().prefix { $0 != "]" }).lowercased() }
        return String(field.prefix { $0 != ":" }).lowercased()
    }

    // MARK: Events

    private func beginStream(_ target: RequestTarget, _ request: Request, _ visitor: Visitor) {
        guard visitors.streamCount < visitors.limits.streams else {
            return visitor.send(
                .text(.serviceUnavailable, "too many visitors follow events; try again later"), to: request)
        }
        if request.head.method == .HEAD {
            return visitor.send(Response(.ok, "text/event-stream", ByteBuffer()), to: request)
        }
        visitor.beginStream(for: request)
        visitor.mayAct = mayAct(request.head, visitor)
        // A new EventSource sends no Last-Event-ID, so the page has it in the address.
        let seen = request.head.headers["last-event-id"].last ?? target["since"]
        guard let cursor = seen.flatMap(Self.cursor), let newest = stream.board.cursor,
            cursor.epoch == newest.epoch, cursor.revision <= newest.revision
        else {
            return begin(visitor, hasMissed: seen != nil)
        }
        resume(visitor, after: cursor)
    }

    /// Reads an identifier of an event, `EPOCH.REVISION`.
    private static func cursor(_ text: String) -> Cursor? {
        let parts = text.split(separator: ".")
        guard parts.count == 2, let revision = Int(parts[1]) else { return nil }
        return Cursor(epoch: Epoch(String(parts[0])), revision: revision)
    }

    /// Sends the present state, and then each event.
    private func begin(_ visitor: Visitor, hasMissed: Bool) {
        sendHeld()
        visitor.follow()
        if hasMissed { visitor.sendEvent(Self.gap) }
        sendSnapshot(to: visitor)
        if stream.lostSince != nil { visitor.sendEvent(connectionFrame) }
    }

    /// Sends what came after an event, and then each event.
    private func resume(_ visitor: Visitor, after cursor: Cursor) {
        if let frames = stream.board.frames(since: cursor) {
            sendHeld()
            visitor.follow()
            visitor.sendEvent(connectionFrame)
            for frame in frames { visitor.sendEvent(frame) }
            sendCounts(to: visitor)
            return
        }
        // Of a hub, the daemon's events are not those that visitors get.
        if stream.board.shown.isHub { return begin(visitor, hasMissed: true) }
        // This process is younger than the event, and the daemon may still know what came after it.
        let calls = stream.events(after: cursor) { [unowned self] frames in
            guard let frames else { return begin(visitor, hasMissed: true) }
            for frame in frames.dropLast() { visitor.sendEvent(frame.frame) }
            if let last = frames.last {
                visitor.sendEvent(last.frame)
                resume(visitor, after: last.cursor)
            }
        }
        visitor.whenLeaving { calls.cancel() }
        daemon.start(calls, for: visitor.address ?? "")
    }

    private static let gap = Frame.frame { $0.member("kind", "gap") }

    private func sendSnapshot(to visitor: Visitor) {
        // What comes later must not be older.
        sendHeld()
        // Before the first answer of the daemon there is none; it then comes to all.
        guard let snapshot = stream.board.snapshot else { return }
        // Many visitors may need the same one.
        if cached?.cursor != snapshot.cursor { cached = (snapshot.cursor, [:]) }
        let frame = cached?.frames[visitor.mayAct] ?? self.frame(of: snapshot, mayAct: visitor.mayAct)
        cached?.frames[visitor.mayAct] = frame
        visitor.sendEvent(frame, isWhole: true)
        sendCounts(to: visitor)
    }

    private func sendCounts(to visitor: Visitor) {
        if stream.board.shown.isHub { visitor.sendEvent(Frame.counts(stream.board.shown, hosts: [])) }
    }

    private func frame(of snapshot: Event, mayAct: Bool) -> ByteBuffer {
        Frame.frame(id: snapshot.cursor) { writer in
            snapshot.writeMembers(to: &writer)
            writer.member("web") { writer in
                writer.member("host", settings.hostName)
                writer.member("actions", mayAct)
            }
        }
    }

    /// Tells a visitor who did not read that events are missing, and the present state.
    func catchUp(_ visitor: Visitor) {
        sendSnapshot(to: visitor)
        visitor.sendEvent(Self.gap)
    }

    /// Sends the frame of an event, or a snapshot.
    private func take(_ frame: ByteBuffer?) {
        guard let frame else {
            for visitor in visitors.streams.values { sendSnapshot(to: visitor) }
            return
        }
        held.writeImmutableBuffer(frame)
        if visitors.streams.count <= Self.fewStreams || held.readableBytes >= Self.mostHeld { return sendHeld() }
        guard sendingHeld == nil else { return }
        let site = NIOLoopBound(self, eventLoop: loop)
        sendingHeld = loop.scheduleTask(in: Self.holdTime) { site.value.sendHeld() }
    }

    /// Sends the numbers of a hub's servers, which change with nearly each event.
    private func sendCountsSoon() {
        guard sendingCounts == nil else { return }
        let site = NIOLoopBound(self, eventLoop: loop)
        sendingCounts = loop.scheduleTask(in: Self.countsTime) { site.value.sendCounts() }
    }

    private func sendCounts() {
        sendingCounts = nil
        let frame = Frame.counts(stream.board.shown, hosts: stream.takeTouchedHosts())
        for visitor in visitors.streams.values { visitor.sendEvent(frame) }
    }

    /// Sends the events that are held, to those who followed when they happened.
    private func sendHeld() {
        sendingHeld?.cancel()
        sendingHeld = nil
        guard held.readableBytes > 0 else { return }
        let frames = held
        held = ByteBuffer()
        for visitor in visitors.streams.values { visitor.sendEvent(frames) }
    }

    private var connectionFrame: ByteBuffer {
        stream.lostSince.map { Frame.disconnected(since: $0) } ?? Frame.alive()
    }

    /// A second has passed, and somebody follows events.
    func tick() {
        stream.ask()
        sendHeld()
        let frame = connectionFrame
        for visitor in visitors.streams.values { visitor.sendSign(frame) }
    }

    /// Whether a proxy of this host has authenticated a visitor who may act.
    func mayAct(_ head: HTTPRequestHead, _ visitor: Visitor) -> Bool {
        settings.hasActions && visitor.isLocal && Self.user(head) != nil
    }

    /// The name of the visitor, as the proxy tells it.
    static func user(_ head: HTTPRequestHead) -> String? {
        let names = head.headers["remote-user"]
        return names.count == 1 ? names.first.flatMap { $0.isEmpty ? nil : $0 } : nil
    }

    // MARK: Others

    /// What the stream has told; nil while the daemon is cut off.
    var servers: ShownServers? { stream.isLive ? stream.board.shown : nil }

    /// The names of the servers that can be checked on request.
    var refreshableServers: [String] {
        (servers?.states.values.filter(\.isRefreshable) ?? []).map(\.name.rawValue).sorted()
    }
}
#endif
