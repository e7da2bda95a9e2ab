// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO

/// A client's call, with the types of its method's reply and its interface's errors.
@EventLoop
public struct MethodCall<Reply: JSONStructure, Failure: InterfaceError>: Sendable {
    /// The call without types, for replies in pieces and streams that write their own JSON.
    public let untyped: VarlinkCall

    /// Creates a typed call.
    @inlinable
    public init(_ call: VarlinkCall) { untyped = call }

    /// Whether the client wants more than one reply.
    public var wantsMore: Bool { untyped.wantsMore }
    /// Whether the client wants no reply.
    public var isOneway: Bool { untyped.isOneway }
    /// The calling process at the time it connected.
    public var caller: PeerCredentials { untyped.caller }

    /// Sends the reply.
    @inlinable
    public func reply(_ reply: Reply) { untyped.reply { reply.writeMembers(to: &$0) } }

    /// Sends a reply that may be long, in pieces (``VarlinkCall/reply(inPieces:)``).
    public func reply(inPieces body: @escaping @EventLoop (inout JSONWriter) -> Bool) { untyped.reply(inPieces: body) }

    /// Answers with an error.
    ///
    /// If the error is not an error reply, it is logged and the connection is closed.
    public func fail(_ error: Failure) {
        if let reply = error.reply { untyped.fail(reply) } else { untyped.hangUp(because: error) }
    }

    /// Answers later: `body` runs as a child task of the service, on the loop (``VarlinkCall/perform(_:)``).
    ///
    /// If it throws, the error is the answer.
    public func perform(_ body: @escaping @EventLoop @Sendable (Self) async throws(Failure) -> Void) {
        untyped.perform { call in
            let typed = Self(call)
            do throws(Failure) { try await body(typed) } catch { typed.fail(error) }
        }
    }

    /// Answers a call with `more` by a stream (``VarlinkCall/stream(_:onClose:)``).
    ///
    /// - Parameters:
    ///   - next: returns the next reply, or nil if there is none now. It is called after ``MethodStream/wake()``, when
    ///     there is room.
    ///   - onClose: called once, when the stream has ended for any reason.
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
    /// Sends the reply.
    @inlinable
    public func reply() { untyped.reply() }
}

/// A stream of replies to one call, with the types of its method.
@EventLoop
public struct MethodStream<Reply: JSONStructure, Failure: InterfaceError>: Sendable {
    private let untyped: VarlinkStream
    private let call: VarlinkCall

    init(_ stream: VarlinkStream, of call: VarlinkCall) {
        untyped = stream
        self.call = call
    }

    /// Whether the stream has ended or its client has left.
    public var isClosed: Bool { untyped.isClosed }

    /// Calls `next` at the end of this turn of the loop, because there may be a reply.
    public func wake() { untyped.wake() }

    /// Ends the stream with one last reply, after all replies that `next` still returns.
    public func finish(_ last: Reply) { untyped.finish { last.writeMembers(to: &$0) } }

    /// Ends the stream with an error, at once.
    ///
    /// If the error is not an error reply, it is logged and the connection is closed.
    public func fail(_ error: Failure) {
        if let reply = error.reply { untyped.fail(reply) } else { call.hangUp(because: error) }
    }
}
