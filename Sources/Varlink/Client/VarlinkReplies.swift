// SPDX-License-Identifier: Apache-2.0

/// The replies of a call with `more`, one by one.
///
/// The socket is read when the next reply is asked for and not before, so a consumer who is slow holds up the service's stream.
public struct VarlinkReplies<Reply: JSONReadable & Sendable>: AsyncSequence, Sendable {
    public typealias Element = Reply
    public typealias Failure = any Error

    let connection: VarlinkConnection

    public func makeAsyncIterator() -> Iterator { Iterator(connection: connection) }

    /// Takes one reply after another; ends behind the last one.
    public struct Iterator: AsyncIteratorProtocol {
        private let connection: VarlinkConnection
        private var isLast = false

        init(connection: VarlinkConnection) { self.connection = connection }

        public mutating func next() async throws -> Reply? { try await next(isolation: #isolation) }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Reply? {
            guard !isLast else { return nil }
            let connection = connection
            let (reply, continues) = try await connection.receive(Reply.self)
            isLast = !continues
            return reply
        }
    }
}
