// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

/// The replies of a call with `more`, one by one, which fails with the errors of its interface.
///
/// When nobody holds it any more before the last reply, the connection is closed (``VarlinkReplies``).
public struct MethodReplies<Reply: JSONReadable & Sendable, Failure: InterfaceError>: AsyncSequence, Sendable {
    /// What the sequence consists of.
    public typealias Element = Reply

    let replies: VarlinkReplies<Reply>

    /// An iterator over the replies that were not taken yet.
    public func makeAsyncIterator() -> Iterator { Iterator(replies: replies.makeAsyncIterator()) }

    /// Takes one reply after another; ends behind the last one.
    public struct Iterator: AsyncIteratorProtocol {
        var replies: VarlinkReplies<Reply>.Iterator

        /// The next reply; nil behind the last one.
        public mutating func next() async throws(Failure) -> Reply? { try await next(isolation: #isolation) }

        /// The next reply; nil behind the last one.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(Failure) -> Reply? {
            do { return try await replies.next(isolation: actor) } catch { throw Failure(call: error) }
        }
    }
}

extension VarlinkConnection {
    /// Calls a method of an interface whose errors are `failure`, and returns its reply (``call(_:_:returning:timeout:)``).
    public func call<Reply: JSONReadable & Sendable, Failure: InterfaceError>(
        _ method: String, _ parameters: some JSONStructure, returning: Reply.Type, failure: Failure.Type,
        timeout: Duration?
    ) async throws(Failure) -> Reply {
        do {
            return try await call(
                method, { parameters.writeMembers(to: &$0) }, returning: Reply.self, timeout: timeout)
        } catch {
            throw Failure(call: error)
        }
    }

    /// Calls a method with `upgrade` (``upgrade(_:_:returning:timeout:)``).
    public func upgrade<Reply: JSONReadable & Sendable, Failure: InterfaceError>(
        _ method: String, _ parameters: some JSONStructure, returning: Reply.Type, failure: Failure.Type,
        timeout: Duration?
    ) async throws(Failure) -> (reply: Reply, connection: UpgradedConnection) {
        do {
            return try await upgrade(
                method, { parameters.writeMembers(to: &$0) }, returning: Reply.self, timeout: timeout)
        } catch {
            throw Failure(call: error)
        }
    }

    /// Calls a method with `more` (``stream(_:_:of:timeout:silence:)``).
    public func stream<Reply: JSONReadable & Sendable, Failure: InterfaceError>(
        _ method: String, _ parameters: some JSONStructure, of: Reply.Type, failure: Failure.Type,
        timeout: Duration?, silence: Duration?
    ) throws(Failure) -> MethodReplies<Reply, Failure> {
        do {
            return MethodReplies(
                replies: try stream(
                    method, { parameters.writeMembers(to: &$0) }, of: Reply.self, timeout: timeout, silence: silence))
        } catch {
            throw Failure(call: error)
        }
    }

    /// Calls a method that nobody is to answer.
    public func callOneway<Failure: InterfaceError>(
        _ method: String, _ parameters: some JSONStructure, failure: Failure.Type
    ) throws(Failure) {
        do {
            try callOneway(method) { parameters.writeMembers(to: &$0) }
        } catch {
            throw Failure(call: error)
        }
    }
}
