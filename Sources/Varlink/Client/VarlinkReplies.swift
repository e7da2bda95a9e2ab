// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

/// The replies to a call with `more`.
///
/// The socket is read when a reply is requested and none is there, one buffer at a time, so a slow consumer slows the
/// service down. There is one consumer: a second iteration continues where the first stopped.
public struct VarlinkReplies<Reply: JSONReadable & Sendable>: AsyncSequence, Sendable {
    /// The type of the elements.
    public typealias Element = Reply
    /// The errors, which are the same as for other calls.
    public typealias Failure = any Error

    let source: RepliesSource

    /// Creates an iterator over the remaining replies.
    public func makeAsyncIterator() -> Iterator { Iterator(source: source) }

    /// The iterator of the replies.
    public struct Iterator: AsyncIteratorProtocol {
        private let source: RepliesSource

        init(source: RepliesSource) { self.source = source }

        /// Returns the next reply, or nil after the last one.
        public mutating func next() async throws -> Reply? { try await next(isolation: #isolation) }

        /// Returns the next reply, or nil after the last one.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Reply? {
            // A cancelled task gets no reply, even if one has arrived.
            if Task.isCancelled { await source.abandon() }
            try Task.checkCancellation()
            return try await source.next(Reply.self)
        }
    }
}

/// The source of a stream's replies.
///
/// Releasing it drops the rest of the stream.
@EventLoop
final class RepliesSource {
    private let connection: VarlinkConnection
    private let ticket: VarlinkConnection.Ticket
    private var timeout: Duration?
    private let silence: Duration?
    private var hasEnded = false

    /// Creates the source of a stream.
    ///
    /// - Parameters:
    ///   - timeout: how long to wait for the first reply.
    ///   - silence: how long to wait for each further reply.
    init(
        connection: VarlinkConnection, ticket: VarlinkConnection.Ticket, timeout: Duration?, silence: Duration?
    ) {
        self.connection = connection
        self.ticket = ticket
        self.timeout = timeout
        self.silence = silence
    }

    isolated deinit { abandon() }

    /// Drops the rest of the stream.
    func abandon() {
        guard !hasEnded else { return }
        hasEnded = true
        connection.abandon(ticket)
    }

    /// Returns the next reply, or nil after the last one.
    func next<Reply: JSONReadable & Sendable>(_ type: Reply.Type) async throws -> Reply? {
        guard !hasEnded else { return nil }
        do {
            let (reply, continues) = try await connection.receive(Reply.self, for: ticket, within: timeout)
            timeout = silence
            hasEnded = !continues
            return reply
        } catch {
            abandon()
            throw error
        }
    }
}
