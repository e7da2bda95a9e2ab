// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO

/// One call of a client, with the types of its method's reply and its interface's errors.
@EventLoop
public struct MethodCall<Reply: JSONStructure, Failure: InterfaceError>: Sendable {
    /// The call itself, for replies that are written piece by piece and streams that write their own JSON.
    public let untyped: VarlinkCall

    /// A call of a method with these types.
    @inlinable
    public init(_ call: VarlinkCall) { untyped = call }

    /// Whether the client wants more than one reply.
    public var wantsMore: Bool { untyped.wantsMore }
    /// Whether the client wants no reply.
    public var isOneway: Bool { untyped.isOneway }
    /// Whether an answer would reach the client: it wants one, and has not left.
    public var isHeard: Bool { untyped.isHeard }
    /// The process that calls, as it was when it connected.
    public var caller: PeerCredentials { untyped.caller }

    /// The descriptors that came with the call (``VarlinkCall/descriptors``).
    public var descriptors: [OwnedDescriptor] { untyped.descriptors }

    /// Answers.
    @inlinable
    public func reply(_ reply: Reply) {
        untyped.reply { reply.writeMembers(to: &$0) }
    }

    /// Answers, and sends descriptors with the reply (``VarlinkCall/reply(descriptors:_:)``).
    public func reply(_ reply: Reply, descriptors: [OwnedDescriptor]) throws(IOError) {
        try untyped.reply(descriptors: descriptors) { reply.writeMembers(to: &$0) }
    }

    /// Answers with a reply that may be long; `body` writes it piece by piece (``VarlinkCall/reply(inPieces:)``).
    public func reply(inPieces body: @escaping @EventLoop (inout JSONWriter) -> Bool) {
        untyped.reply(inPieces: body)
    }

    /// Answers a call with `upgrade`, and gives up the connection to another protocol (``VarlinkCall/upgrade(_:then:)``).
    public func upgrade(_ reply: Reply, then handOver: @escaping @EventLoop (UpgradedConnection) -> Void) {
        untyped.upgrade({ reply.writeMembers(to: &$0) }, then: handOver)
    }

    /// Answers with an error; what is no error reply closes the connection.
    public func fail(_ error: Failure) {
        if let reply = error.reply { untyped.fail(reply) } else { untyped.hangUp() }
    }

    /// Answers later: `body` runs on the loop as a child task of the service's (``VarlinkCall/perform(_:)``).
    ///
    /// An error that it throws is the answer.
    public func perform(_ body: @escaping @EventLoop @Sendable (Self) async throws(Failure) -> Void) {
        untyped.perform { call in
            let typed = Self(call)
            do throws(Failure) { try await body(typed) } catch { typed.fail(error) }
        }
    }

    /// Makes the call a stream, as the answer to `more` (``VarlinkCall/stream(_:onClose:)``).
    ///
    /// - Parameters:
    ///   - next: returns the next reply, or nil if there is none now. It is called after ``MethodStream/wake()``, when the client has room.
    ///   - onClose: called once, when the stream has ended for whatever reason.
    public func stream(
        _ next: @escaping @EventLoop () -> Reply?, onClose: @escaping @EventLoop () -> Void = {}
    ) -> MethodStream<Reply, Failure> {
        let stream = untyped.stream(
            { writer in
                guard let reply = next() else { return false }
                reply.writeMembers(to: &writer)
                return true
            }, onClose: onClose)
        return MethodStream(stream, of: untyped)
    }

    /// Closes the connection without an answer.
    public func hangUp() { untyped.hangUp() }
}

extension MethodCall where Reply == NoMembers {
    /// Answers.
    @inlinable
    public func reply() { untyped.reply() }
}

/// A call that is answered by more than one reply, with the types of its method.
@EventLoop
public struct MethodStream<Reply: JSONStructure, Failure: InterfaceError>: Sendable {
    private let untyped: VarlinkStream
    private let call: VarlinkCall

    init(_ stream: VarlinkStream, of call: VarlinkCall) {
        untyped = stream
        self.call = call
    }

    /// Whether the stream has ended or its client is gone.
    public var isClosed: Bool { untyped.isClosed }

    /// Says that there may be a next reply: it is asked for at the end of this turn of the loop.
    public func wake() { untyped.wake() }

    /// Ends the stream behind what there still is to be written, with one last reply.
    public func finish(_ last: Reply) {
        untyped.finish { last.writeMembers(to: &$0) }
    }

    /// Ends the stream with an error, at once; what is no error reply closes the connection.
    public func fail(_ error: Failure) {
        if let reply = error.reply { untyped.fail(reply) } else { call.hangUp() }
    }
}
