// SPDX-License-Identifier: Apache-2.0

#if Web
import NIOCore
import NIOEmbedded
import StatusModel

@testable import StatusWeb

/// A site without sockets: its time passes only when a test says so, and its daemon answers only when a test does.
final class Stage {
    let loop = EmbeddedEventLoop()
    let site: Site
    private let daemon = Calls()

    private final class Calls {
        var channels: [EmbeddedChannel] = []
    }

    init(_ change: (inout HTTPLimits) -> Void = { _ in }, descriptors: Int = 1024) throws {
        var limits = HTTPLimits(descriptors: descriptors)
        change(&limits)
        let address = try SocketAddress(unixDomainSocketPath: "/daemon")
        site = Site(
            Site.Settings(hostName: "here"), limits: limits,
            daemon: { [loop, daemon] calls in
                let channel = EmbeddedChannel(handler: calls, loop: loop)
                daemon.channels.append(channel)
                channel.connect(to: address, promise: nil)
            }, loop: loop)
    }

    /// The open connections to the daemon.
    var calls: [EmbeddedChannel] { daemon.channels.filter(\.isActive) }

    /// Answers the first call on each connection.
    func answer(_ parameters: String) throws {
        for channel in calls {
            try channel.writeInbound(ByteBuffer(string: "{\"parameters\":\(parameters)}\0"))
        }
        loop.run()
    }

    func wait(_ time: TimeAmount) {
        loop.advanceTime(by: time)
        loop.run()
    }
}

/// One connection of a visitor.
final class Visit {
    private let channel: EmbeddedChannel
    private let stage: Stage
    private let reader = Reader()
    private var taken = ""

    /// Holds what is written while the visitor does not read.
    private final class Reader: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        var reads = true
        private var context: ChannelHandlerContext?
        private var held: [(data: NIOAny, promise: EventLoopPromise<Void>?)] = []

        func handlerAdded(context: ChannelHandlerContext) { self.context = context }

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            if reads { context.write(data, promise: promise) } else { held.append((data, promise)) }
        }

        /// Writes up to the end of an answer, the only part that has a promise.
        func readOne() {
            while !held.isEmpty {
                let (data, promise) = held.removeFirst()
                context?.write(data, promise: promise)
                if promise != nil { return }
            }
        }

        func handlerRemoved(context: ChannelHandlerContext) {
            for write in held { write.promise?.fail(ChannelError.ioOnClosedChannel) }
            self.context = nil
        }
    }

    init(_ stage: Stage, from address: String = "127.0.0.1") throws {
        self.stage = stage
        channel = EmbeddedChannel(handler: reader, loop: stage.loop)
        try Visitor.add(to: channel, stage.site.visitors)
        channel.connect(to: try SocketAddress(ipAddress: address, port: 80), promise: nil)
        stage.loop.run()
    }

    var isOpen: Bool { channel.isActive }

    func stopReading() { reader.reads = false }

    /// Takes what belongs to one answer.
    func readOne() {
        reader.readOne()
        channel.flush()
        stage.loop.run()
    }

    func send(_ text: String) throws {
        try channel.writeInbound(ByteBuffer(string: text))
        stage.loop.run()
    }

    func get(_ target: String) throws { try send("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n") }

    func leave() {
        channel.close(promise: nil)
        stage.loop.run()
    }

    /// All that it has received so far.
    var received: String {
        get throws {
            while let bytes = try channel.readOutbound(as: ByteBuffer.self) { taken += String(buffer: bytes) }
            return taken
        }
    }

    /// How often a text is in what it has received.
    func count(of text: String) throws -> Int { try received.ranges(of: text).count }

    /// The handler of this connection; nil after its end.
    var visitor: Visitor? { try? channel.pipeline.syncOperations.handler(type: Visitor.self) }

    /// The status of its first answer, such as 200; nil before.
    var status: Int? {
        get throws { try received.split(separator: " ").dropFirst().first.flatMap { Int($0) } }
    }
}
#endif
