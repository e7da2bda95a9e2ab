// SPDX-License-Identifier: Apache-2.0

#if Web
import EventLoopIO
import NIOCore
import NIOPosix
import Varlink

/// Opens a channel to the daemon, with these calls as its last handler.
///
/// Tests have a daemon of their own.
typealias DaemonConnector = (DaemonCalls) -> Void

/// Calls to the daemon on a connection of their own, answered in order; closing it withdraws them.
///
/// This is the client of Varlink on NIO's loop: one more loop would cost four threads and 4 MB.
final class DaemonCalls: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// A reply: the number of its call, its parameters as JSON, the name of its error, and whether more follow.
    struct Reply {
        var call: Int
        var parameters: [UInt8]
        var error: String?
        var continues: Bool
    }

    /// The maximum length of a reply in bytes.
    private static let maximumBytes = 64 << 20

    private let calls: [[UInt8]]
    /// Released at the end, as they may refer to this object.
    private var onReply: ((Reply) -> Void)?
    private var onEnd: ((_ isComplete: Bool) -> Void)?
    private var input = MessageInput()
    /// The number of the call that the next reply answers.
    private var current = 0
    private var channel: (any Channel)?
    private(set) var hasEnded = false
    /// Called when the connection is no longer needed.
    private var onDone: (() -> Void)?

    /// - Parameters:
    ///   - calls: the messages; see ``message(_:_:more:)``.
    ///   - onReply: called with each reply, also with errors.
    ///   - onEnd: called once: when all calls are answered, or the connection has failed or ended before.
    init(_ calls: [[UInt8]], onReply: @escaping (Reply) -> Void, onEnd: @escaping (_ isComplete: Bool) -> Void) {
        (self.calls, self.onReply, self.onEnd) = (calls, onReply, onEnd)
    }

    /// The message of a call.
    static func message(_ method: String, _ parameters: some JSONStructure, more: Bool = false) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("method", method)
            writer.member("parameters", parameters)
            if more { writer.member("more", true) }
        }
        return writer.bytes + [0]
    }

    /// Connects to the daemon and makes the calls.
    func start(with connect: DaemonConnector, onDone: (() -> Void)? = nil) {
        self.onDone = onDone
        connect(self)
    }

    /// Connects to the daemon's socket.
    static func connector(to path: String, on loop: any NIOCore.EventLoop) -> DaemonConnector {
        { calls in
            let calls = NIOLoopBound(calls, eventLoop: loop)
            ClientBootstrap(group: loop)
                .connectTimeout(.seconds(5))
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(calls.value)
                    }
                }
                .connect(unixDomainSocketPath: path)
                .whenFailure { _ in calls.value.end(isComplete: false) }
        }
    }

    /// Withdraws the calls; ``onEnd`` is not called.
    func cancel() {
        let onDone = onDone
        (hasEnded, onReply, onEnd, self.onDone) = (true, nil, nil, nil)
        channel?.close(promise: nil)
        onDone?()
    }

    private func end(isComplete: Bool) {
        guard !hasEnded else { return }
        let onEnd = onEnd
        cancel()
        onEnd?(isComplete)
    }

    // MARK: The channel

    func channelActive(context: ChannelHandlerContext) {
        channel = context.channel
        guard !hasEnded else { return context.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: calls.joined())), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { end(isComplete: false) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { end(isComplete: false) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        unwrapInboundIn(data).withUnsafeReadableBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let room = input.room()
                let part = rest.prefix(room.count)
                room.copyMemory(from: UnsafeRawBufferPointer(rebasing: part))
                input.add(part.count)
                rest = rest.dropFirst(part.count)
            }
        }
        while !hasEnded, let message = input.takeMessage() { take(message) }
        if input.count > Self.maximumBytes { end(isComplete: false) }
    }

    private func take(_ message: UnsafeRawBufferPointer) {
        guard let envelope = try? ReplyEnvelope(message) else { return end(isComplete: false) }
        let parameters = envelope.parameters.map { Array(message[$0]) } ?? Array("{}".utf8)
        onReply?(
            Reply(call: current, parameters: parameters, error: envelope.error, continues: envelope.continues))
        if !envelope.continues { current += 1 }
        if current == calls.count { end(isComplete: true) }
    }
}
#endif
