// SPDX-License-Identifier: Apache-2.0

#if Web
import NIOCore
import NIOHTTP1

/// One connection of a visitor: reads requests, one at a time, and answers them.
///
/// It is last in the channel's pipeline. The handlers of NIO before it leave some things to it, each of which let
/// one visitor end the process or fill its memory: see the comments.
final class Visitor: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    /// What happens on the connection; the first phases make room for new visitors before the last ones.
    enum Phase: Int {
        /// A request arrives, or is expected as the first one.
        case reading
        /// Between two requests.
        case idle
        /// The answer is being sent.
        case sending
        /// The answer is being made.
        case answering
        /// Events are sent as they happen.
        case streaming
    }

    private let visitors: Visitors
    private(set) var phase = Phase.reading
    /// When the phase began; while streaming, since when the visitor has not read what is on its way.
    private(set) var since: NIODeadline
    private var context: ChannelHandlerContext?
    private var head: HTTPRequestHead?
    private var body = ByteBuffer()
    /// A request that came while the visitor did not read its answers.
    private var held: Request?
    /// Whether the connection ends after this answer.
    private var closes = false
    private var isOpen = true
    /// The bytes of events that the socket has not taken yet, and how many there may be.
    private(set) var queued = 0
    private var room = Visitor.usualRoom
    private static let usualRoom = 64 << 10
    /// The number of answers that are on their way.
    private var answers = 0
    /// The bytes of answers and snapshots that are on their way.
    private(set) var unread = 0
    /// Whether events were left out because the visitor did not read; it then gets a snapshot.
    private(set) var isBehind = false
    /// Whether the visitor may refresh, select and silence.
    var mayAct = false
    /// Whether it connects over a Unix socket, as only a proxy of this host can.
    private(set) var isLocal = false
    /// The address from which it connects over TCP.
    private(set) var address: String?
    /// What to withdraw if the visitor leaves before the answer.
    private var onLeave: (() -> Void)?

    private init(_ visitors: Visitors) { (self.visitors, since) = (visitors, visitors.loop.now) }

    /// Adds the handlers of a visitor to a new connection.
    static func add(to channel: any Channel, _ visitors: Visitors) throws {
        let (visitor, pipeline) = (Visitor(visitors), channel.pipeline.syncOperations)
        try pipeline.addHandler(ByteClock(visitor))
        try pipeline.configureHTTPServerPipeline(
            withPipeliningAssistance: true, withErrorHandling: false, withOutboundHeaderValidation: true,
            withEncoderConfiguration: .init(), withDecoderLimitConfiguration: HTTPLimits.decoder)
        let ahead = try pipeline.handler(type: HTTPServerPipelineHandler.self)
        try pipeline.addHandler(RequestsAhead(visitors.limits.ahead), position: .before(ahead))
        try pipeline.addHandler(visitor)
    }

    /// Notes that a byte of a request has come, which NIO's decoder keeps to itself.
    func bytesCame() { if phase == .idle { enter(.reading) } }

    private func enter(_ phase: Phase) { (self.phase, since) = (phase, visitors.loop.now) }

    /// Ends the connection without an answer.
    func drop() { context?.close(promise: nil) }

    // MARK: The channel

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelActive(context: ChannelHandlerContext) {
        isLocal = context.channel.localAddress?.pathname != nil
        address = context.channel.remoteAddress?.ipAddress
        visitors.opened(self)
    }

    func channelInactive(context: ChannelHandlerContext) {
        isOpen = false
        held = nil
        visitors.closed(self)
        onLeave?()
        onLeave = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // When a connection ends, NIO delivers the requests that it has held back. An answer would be a failed
        // precondition, which ends the process.
        guard isOpen, !closes else { return }
        switch unwrapInboundIn(data) {
        case .head(let head): begin(head)
        case .body(let bytes): add(bytes)
        case .end: end(context)
        }
    }

    private func begin(_ head: HTTPRequestHead) {
        body.clear()
        self.head = head
        // Without this, a client that waits for “100 Continue” before it sends a body would wait for ever.
        if head.headers.contains(name: "expect") { refuse(head, .expectationFailed, "no request needs “Expect”") }
    }

    private func add(_ bytes: ByteBuffer) {
        guard let head else { return }
        guard body.readableBytes + bytes.readableBytes <= visitors.limits.body else {
            return refuse(head, .payloadTooLarge, "the body is longer than \(visitors.limits.body) bytes")
        }
        body.writeImmutableBuffer(bytes)
    }

    private func end(_ context: ChannelHandlerContext) {
        guard let head else { return }
        self.head = nil
        let request = Request(head: head, body: body)
        // NIO regards an answer as sent once it is written, and passes the next request on. A visitor who only
        // writes would fill the memory with answers.
        if context.channel.isWritable { answer(request) } else { held = request }
    }

    /// Answers a request whose rest is not wanted.
    private func refuse(_ head: HTTPRequestHead, _ status: HTTPResponseStatus, _ reason: String) {
        self.head = nil
        closes = true
        send(.text(status, reason), to: Request(head: head, body: ByteBuffer()))
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        guard context.channel.isWritable else { return }
        if let request = held.take() { answer(request) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event as? ChannelEvent == .inputClosed else { return context.fireUserInboundEventTriggered(event) }
        // A half-closed client gets its answer; a stream, or nothing to answer, ends.
        if phase == .answering || phase == .sending { closes = true } else { drop() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard error is HTTPParserError, phase != .answering, phase != .streaming else { return drop() }
        // NIO reports some malformed requests twice, and its own handler would answer each time.
        guard !closes else { return }
        refuse(HTTPRequestHead(version: .http1_1, method: .GET, uri: ""), .badRequest, "the request is malformed")
    }

    // MARK: Answers

    private func answer(_ request: Request) {
        enter(.answering)
        visitors.site.answer(request, to: self)
    }

    /// Sends the answer to the current request.
    func send(_ response: Response, to request: Request) {
        guard isOpen, let context else { return }
        onLeave = nil
        let head = request.head
        // After `Upgrade:` and CONNECT, NIO's decoder would keep all further bytes.
        let isOther = head.method == .CONNECT || head.headers.contains(name: "upgrade")
        closes = closes || visitors.isStopping || !head.isKeepAlive || isOther
        enter(.sending)
        let bytes = head.method == .HEAD || response.status == .notModified ? 0 : response.body.readableBytes
        answers += 1
        began(bytes)
        context.write(wrapOutboundOut(.head(response.head(for: head, closes: closes))), promise: nil)
        if bytes > 0 { context.write(wrapOutboundOut(.body(.byteBuffer(response.body))), promise: nil) }
        let sent = context.eventLoop.makePromise(of: Void.self)
        let visitor = NIOLoopBound(self, eventLoop: context.eventLoop)
        sent.futureResult.whenComplete { _ in visitor.value.sent(bytes) }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: sent)
        visitors.dropSlowest()
    }

    /// Notes that the visitor has an answer, or has left.
    private func sent(_ bytes: Int) {
        began(-bytes)
        answers -= 1
        guard answers == 0 else { return }
        if closes { drop() } else if phase == .sending { enter(.idle) }
    }

    /// Notes that an answer or a snapshot is on its way, or no longer.
    private func began(_ bytes: Int) {
        unread += bytes
        visitors.unread += bytes
    }

    /// Notes what to withdraw if the visitor leaves before the answer.
    func whenLeaving(_ body: @escaping () -> Void) { onLeave = body }

    /// Begins a stream of events.
    func beginStream(for request: Request) {
        guard isOpen, let context else { return }
        enter(.streaming)
        context.writeAndFlush(wrapOutboundOut(.head(Response.streamHead(for: request.head))), promise: nil)
    }

    /// From now on, the visitor gets each event.
    func follow() { if isOpen { visitors.follow(self) } }

    /// Sends an event, or notes that the visitor is behind.
    ///
    /// - Parameter isWhole: whether it is a snapshot, after which nothing is missing, and which has any length.
    func sendEvent(_ frame: ByteBuffer, isWhole: Bool = false) {
        guard isOpen, let context else { return }
        let count = frame.readableBytes
        if isWhole { (room, isBehind) = (queued + count + Self.usualRoom, false) }
        guard !isBehind, queued + count <= room else {
            if !isBehind { (isBehind, since) = (true, visitors.loop.now) }
            return
        }
        if queued == 0 { since = visitors.loop.now }
        queued += count
        // Other events are few bytes, which all visitors share.
        let bytes = isWhole ? count : 0
        began(bytes)
        let taken = context.eventLoop.makePromise(of: Void.self)
        let visitor = NIOLoopBound(self, eventLoop: context.eventLoop)
        taken.futureResult.whenComplete { _ in
            visitor.value.began(-bytes)
            visitor.value.took(count)
        }
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(frame))), promise: taken)
        if isWhole { visitors.dropSlowest() }
    }

    private func took(_ count: Int) {
        queued -= count
        guard isOpen else { return }
        if !isBehind { since = visitors.loop.now }
        guard queued == 0 else { return }
        room = Self.usualRoom
        if isBehind { visitors.site.catchUp(self) }
    }

    /// Sends a sign of life, which a visitor with anything else on its way does not need.
    func sendSign(_ frame: ByteBuffer) { if queued == 0 { sendEvent(frame) } }

    /// Ends a stream, as a daemon that stops does.
    func endStream() {
        guard isOpen, phase == .streaming, let context else { return }
        closes = true
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        drop()
    }
}

/// A request with its body.
struct Request {
    var head: HTTPRequestHead
    var body: ByteBuffer
}
#endif
