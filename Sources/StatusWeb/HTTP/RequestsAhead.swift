// SPDX-License-Identifier: Apache-2.0

#if Web
import NIOCore
import NIOHTTP1

/// Before NIO's handler that holds back requests until the answer before: ends a connection with too many of them.
///
/// A visitor who ends its side while it waits for an answer makes NIO read all that it has sent. Each held request
/// takes a kilobyte, so 400 visitors with short ones filled 780 MB.
final class RequestsAhead: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let limit: Int
    private var unanswered = 0

    init(_ limit: Int) { self.limit = limit }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head = unwrapInboundIn(data) { unanswered += 1 }
        if unanswered <= limit { context.fireChannelRead(data) } else { context.close(promise: nil) }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) { unanswered -= 1 }
        context.write(data, promise: promise)
    }
}

/// First in the pipeline: tells when a byte of a request comes.
final class ByteClock: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let visitor: Visitor

    init(_ visitor: Visitor) { self.visitor = visitor }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        visitor.bytesCame()
        context.fireChannelRead(data)
    }
}
#endif
