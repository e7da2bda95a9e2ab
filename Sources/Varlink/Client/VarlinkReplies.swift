// SPDX-License-Identifier: Apache-2.0

import Systemd

/// The replies of a call with `more`, one by one.
///
/// The socket is read when the next reply is asked for and not before, so a consumer who is slow holds up the service's stream.
/// One consumer: iterating a second time goes on where the first stopped.
public struct VarlinkReplies<Reply: JSONReadable & Sendable>: AsyncSequence, Sendable {
    public typealias Element = Reply
    public typealias Failure = any Error

    let source: RepliesSource

    public func makeAsyncIterator() -> Iterator { Iterator(source: source) }

    /// Takes one reply after another; ends behind the last one.
    public struct Iterator: AsyncIteratorProtocol {
        let source: RepliesSource

        /// The next reply; nil behind the last one.
        ///
        /// - Throws: what ``VarlinkConnection/call(_:_:returning:)`` throws.
        public mutating func next() async throws -> Reply? {
            try await source.next(Reply.self)
        }

        /// The next reply; nil behind the last one.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Reply? {
            try await source.next(Reply.self)
        }
    }
}

/// A stream's place on its connection.
///
/// When nobody holds it any more before the stream has ended, the connection is closed.
@EventLoop
final class RepliesSource {
    private let connection: VarlinkConnection
    private let ticket: VarlinkConnection.Ticket
    private var hasEnded = false

    init(connection: VarlinkConnection, ticket: VarlinkConnection.Ticket) {
        self.connection = connection
        self.ticket = ticket
    }

    isolated deinit {
        if !hasEnded { connection.abandon(ticket) }
    }

    func next<Reply: JSONReadable & Sendable>(_ type: Reply.Type) async throws -> Reply? {
        guard !hasEnded else { return nil }
        do {
            let (reply, continues) = try await connection.receive(Reply.self, for: ticket)
            hasEnded = !continues
            return reply
        } catch {
            hasEnded = true
            throw error
        }
    }
}
