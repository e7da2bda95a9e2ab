// SPDX-License-Identifier: Apache-2.0

/// The replies to a call with `more`, with the errors of its interface.
///
/// Once it is released, the remaining replies are dropped (``VarlinkReplies``).
public struct MethodReplies<Reply: JSONReadable & Sendable, Failure: InterfaceError>: AsyncSequence, Sendable {
    /// The type of the elements.
    public typealias Element = Reply

    let replies: VarlinkReplies<Reply>

    /// Creates an iterator over the remaining replies.
    public func makeAsyncIterator() -> Iterator { Iterator(replies: replies.makeAsyncIterator()) }

    /// The iterator of the replies.
    public struct Iterator: AsyncIteratorProtocol {
        var replies: VarlinkReplies<Reply>.Iterator

        /// Returns the next reply, or nil after the last one.
        public mutating func next() async throws(Failure) -> Reply? { try await next(isolation: #isolation) }

        /// Returns the next reply, or nil after the last one.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(Failure) -> Reply? {
            do { return try await replies.next(isolation: actor) } catch { throw Failure(call: error) }
        }
    }
}

extension VarlinkConnection {
    /// Calls a method and returns its reply (``VarlinkConnection/call(_:_:returning:timeout:)``).
    public func call<Reply: JSONReadable & Sendable, Failure: InterfaceError>(
        _ method: String, _ parameters: some JSONStructure, returning: Reply.Type, failure: Failure.Type,
        timeout: Duration?
    ) async throws(Failure) -> Reply {
        do {
            return try await call(method, parameters.writeMembers(to:), returning: Reply.self, timeout: timeout)
        } catch { throw Failure(call: error) }
    }

    /// Calls a method with `more` (``VarlinkConnection/stream(_:_:of:timeout:silence:)``).
    public func stream<Reply: JSONReadable & Sendable, Failure: InterfaceError>(
        _ method: String, _ parameters: some JSONStructure, of: Reply.Type, failure: Failure.Type,
        timeout: Duration?, silence: Duration?
    ) throws(Failure) -> MethodReplies<Reply, Failure> {
        do {
            return MethodReplies(
                replies: try stream(
                    method, parameters.writeMembers(to:), of: Reply.self, timeout: timeout, silence: silence))
        } catch { throw Failure(call: error) }
    }

    /// Calls a method without waiting for a reply.
    public func callOneway<Failure: InterfaceError>(
        _ method: String, _ parameters: some JSONStructure, failure: Failure.Type
    ) throws(Failure) {
        do { try callOneway(method, parameters.writeMembers(to:)) } catch { throw Failure(call: error) }
    }
}
