// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

/// The replies of a call with `more`, one by one.
///
/// The socket is read when the next reply is asked for and none is there, and then no more than one buffer: so a consumer who is
/// slow holds up the service's stream. One consumer: iterating a second time goes on where the first stopped.
public struct VarlinkReplies<Reply: JSONReadable & Sendable>: AsyncSequence, Sendable {
    /// What the sequence consists of.
    public typealias Element = Reply
    /// What it throws: what ``VarlinkConnection/call(_:_:returning:)`` throws.
    public typealias Failure = any Error

    let source: RepliesSource

    /// An iterator over the replies that were not taken yet.
    public func makeAsyncIterator() -> Iterator { Iterator(source: source) }

    /// Takes one reply after another; ends behind the last one.
    public struct Iterator: AsyncIteratorProtocol {
        private let source: RepliesSource

        init(source: RepliesSource) { self.source = source }

        /// The next reply; nil behind the last one.
        public mutating func next() async throws -> Reply? {
            try await next(isolation: #isolation)
        }

        /// The next reply; nil behind the last one.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Reply? {
            // A task that is cancelled gets nothing any more, whatever is here already.
            if Task.isCancelled { await source.abandon() }
            try Task.checkCancellation()
            return try await source.next(Reply.self)
        }
    }
}

/// A stream's place on its connection.
///
/// When nobody holds it any more, what is left of the stream is dropped.
@EventLoop
final class RepliesSource {
    private let connection: VarlinkConnection
    private let ticket: VarlinkConnection.Ticket
    private var timeout: Duration?
    private let silence: Duration?
    private var hasEnded = false

    /// - Parameters:
    ///   - timeout: how long to wait for the first reply.
    ///   - silence: how long to wait for each further one.
    init(
        connection: VarlinkConnection, ticket: VarlinkConnection.Ticket, timeout: Duration?, silence: Duration?
    ) {
        self.connection = connection
        self.ticket = ticket
        self.timeout = timeout
        self.silence = silence
    }

    isolated deinit { abandon() }

    /// Takes no more of the stream, whether the service has ended it or not.
    func abandon() {
        guard !hasEnded else { return }
        hasEnded = true
        connection.abandon(ticket)
    }

    /// The next reply; nil behind the last one.
    func next<Reply: JSONReadable & Sendable>(_ type: Reply.Type) async throws -> Reply? {
        guard !hasEnded else { return nil }
        do {
            let (reply, continues, _) = try await connection.receive(Reply.self, for: ticket, within: timeout)
            timeout = silence
            hasEnded = !continues
            return reply
        } catch {
            abandon()
            throw error
        }
    }
}
