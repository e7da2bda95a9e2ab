// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO

/// A call that was read, and its method.
struct ReceivedCall {
    var envelope: CallEnvelope
    let route: Route
    /// Whether the envelope was only assumed (``ExpectedEnvelope``) and is not confirmed by the parameters yet.
    var isUnverified = false
}

/// A client's call.
///
/// It is answered once, by a stream, or, if it is oneway, not at all.
@EventLoop
public final class VarlinkCall {
    private enum State {
        /// It is not answered yet.
        case open
        /// A child task of the service is answering it.
        case performing
        case streaming
        case ended
    }

    /// The method's name without its interface.
    public var method: String { route.method }
    /// The method's position in its interface's description, counted from 0.
    public var methodIndex: Int { route.index }
    /// Whether the method changes nothing (``VarlinkInterface/onlyReads(_:)``).
    public var onlyReads: Bool { route.onlyReads }
    /// Whether the client wants more than one reply.
    public var wantsMore: Bool { received.envelope.wantsMore }
    /// Whether the client wants no reply.
    public var isOneway: Bool { received.envelope.isOneway }
    /// Whether the client wants a reply and has not left.
    public var isHeard: Bool { !isOneway && connection.mayReply }
    /// Whether the client wants to speak another protocol after the reply (``upgrade(_:then:)``).
    public var wantsUpgrade: Bool { received.envelope.wantsUpgrade }
    var route: Route { received.route }
    /// Whether it comes from this process (``VarlinkService/add(_:isInternal:)``).
    public var isInternal: Bool { connection.isInternal }
    /// The calling process, as it was when it connected.
    public var caller: PeerCredentials { connection.caller }

    /// The user whose limits apply (``VarlinkService/account``).
    public var account: UInt32 { connection.account }

    private let connection: ServerConnection
    private var received: ReceivedCall
    /// The call's text, which is valid while its handler runs.
    private var message: UnsafeRawBufferPointer?
    private var state = State.open
    private var onDeparture: CheckedContinuation<Void, Never>?

    init(_ received: consuming ReceivedCall, in message: UnsafeRawBufferPointer, connection: ServerConnection) {
        self.received = received
        self.message = message
        self.connection = connection
    }

    /// Reuses a call that has ended, and that nobody else holds, for the next one of its connection.
    func become(_ received: consuming ReceivedCall, in message: UnsafeRawBufferPointer) {
        self.received = received
        self.message = message
        state = .open
    }

    deinit {
        guard state != .ended else { return }
        // Nobody can answer any more, and the client must not wait forever.
        EventLoop.perform { [connection, received] in
            connection.callWasForgotten(received.route.fullName, isOneway: received.envelope.isOneway)
        }
    }

    var isUnverified: Bool { received.isUnverified }

    /// Whether the call has been answered, or its client has left.
    public var isEnded: Bool { state == .ended }

    /// Reads the parameters; absent, `null` and `{}` mean the same.
    ///
    /// Call this only while ``VarlinkInterface/handle(_:)`` runs.
    ///
    /// - Throws: `InvalidParameter` with the name of a parameter that is unknown, missing or of the wrong type.
    public func parameters<Parameters: JSONReadable>(
        _ type: Parameters.Type = Parameters.self
    ) throws(VarlinkError) -> Parameters {
        guard let message else { preconditionFailure("a call's parameters are read before its handler returns") }
        do throws(JSONError) {
            if isUnverified { return try expectedParameters(message) }
            return try JSONReader.readParameters(message, received.envelope.parameters, as: Parameters.self)
        } catch {
            throw .invalidParameter(error.member ?? "parameters")
        }
    }

    /// Reads the parameters from their assumed place, or else from where the whole message has them.
    private func expectedParameters<Parameters: JSONReadable>(
        _ message: UnsafeRawBufferPointer
    ) throws(JSONError) -> Parameters {
        // Not `try?`: the type of its optional result would be looked up at each call.
        do throws(JSONError) {
            let parameters = try JSONReader.readParameters(
                message, received.envelope.parameters, as: Parameters.self)
            received.isUnverified = false
            return parameters
        } catch {
            let envelope = try CallEnvelope(message)
            received.isUnverified = false
            received.envelope.parameters = envelope.parameters
            connection.expectationFailed()
            return try JSONReader.readParameters(message, envelope.parameters, as: Parameters.self)
        }
    }

    /// The descriptors that came with the call, if the service passes descriptors.
    ///
    /// Read this only while ``VarlinkInterface/handle(_:)`` runs. After that, descriptors that nobody holds are closed.
    public var descriptors: [OwnedDescriptor] { message == nil ? [] : connection.transport.passing?.current ?? [] }

    // MARK: Answering

    /// Sends the reply.
    ///
    /// - Parameter body: writes the members of its parameters; not called if the client has left.
    public func reply(_ body: (inout JSONWriter) -> Void = { _ in }) {
        guard end() else { return }
        if !isOneway { connection.transport.write { $0.member("parameters", body) } }
        connection.callEnded()
    }

    /// Sends the reply, with descriptors.
    ///
    /// - Parameters:
    ///   - descriptors: at most 253, which stay open until they have been sent.
    ///   - body: writes the members of the reply's parameters.
    /// - Throws: `IOError.Code.systemCall` if there are too many descriptors, or this connection passes none. Then
    ///   the call is not answered yet.
    public func reply(
        descriptors: [OwnedDescriptor], _ body: (inout JSONWriter) -> Void = { _ in }
    ) throws(IOError) {
        try DescriptorPassing.check(descriptors, on: connection.transport)
        guard end() else { return }
        if !isOneway { connection.transport.write(descriptors) { $0.member("parameters", body) } }
        connection.callEnded()
    }

    /// Sends a reply that may be long: it is written in pieces, as the client reads it.
    ///
    /// - Parameter body: writes the next members of the reply's parameters, or part of one, and returns whether there
    ///   is more. It is not called if the client has left or wants no reply.
    public func reply(inPieces body: @escaping @EventLoop (inout JSONWriter) -> Bool) {
        guard end() else { return }
        if isOneway { connection.callEnded() } else { connection.write(MessageInPieces(continues: false, body)) }
    }

    /// Answers a call with ``wantsUpgrade``, and switches the connection to another protocol.
    ///
    /// A call without it is answered with the error `InvalidParameter`.
    ///
    /// - Parameters:
    ///   - body: writes the members of the reply's parameters.
    ///   - handOver: gets the connection, which the service no longer counts, and the bytes that came after the call.
    ///     Called once the reply has been sent, or the client has left after this method was called. Not called if
    ///     the call had ended (``isEnded``), because the client left while the call waited for its answer, or if the
    ///     service closes the connection first.
    public func upgrade(
        _ body: (inout JSONWriter) -> Void = { _ in }, then handOver: @escaping @EventLoop (UpgradedConnection) -> Void
    ) {
        guard wantsUpgrade else { return fail(.invalidParameter("upgrade")) }
        guard end() else { return }
        connection.transport.write { $0.member("parameters", body) }
        connection.upgrade(handOver)
    }

    /// Answers with an error.
    public func fail(_ error: VarlinkError) {
        guard end() else { return }
        if !isOneway {
            connection.transport.write { writer in
                error.writeMembers(to: &writer)
            }
        }
        connection.callEnded()
    }

    /// Answers that the service does not implement the method.
    public func failNotImplemented() { fail(.methodNotImplemented(route.fullName)) }

    /// Answers later: `body` runs as a child task of the service, on the loop.
    ///
    /// It is cancelled when the client leaves or the service ends. The connection's next call waits until this one is
    /// answered. If `body` ends without an answer, the connection is closed.
    public func perform(_ body: @escaping @EventLoop @Sendable (VarlinkCall) async -> Void) {
        guard state == .open else { return }
        state = .performing
        connection.service.enqueue { [self] in await run(body) }
    }

    /// Closes the connection without an answer, as if the service had ended before the call.
    public func hangUp() {
        guard end() else { return }
        connection.callWasDropped()
    }

    private func run(_ body: @escaping @EventLoop @Sendable (VarlinkCall) async -> Void) async {
        guard state == .performing else { return }
        let work: @EventLoop @Sendable () async -> Void = {
            await body(self)
            self.bodyEnded()
        }
        await withDiscardingTaskGroup { group in
            group.addTask(operation: work)
            await self.departure()
            group.cancelAll()
        }
    }

    private func bodyEnded() {
        resumeDeparture()
        // If nobody holds the call any more, its deinitializer notices.
        if state == .performing { state = .open }
    }

    /// Returns when the body has ended or the client has left.
    private func departure() async {
        await withCheckedContinuation { continuation in
            onDeparture = continuation
            if state == .ended { resumeDeparture() }
        }
    }

    /// Answers a call with `more` by a stream.
    ///
    /// If the client has left already, the stream is closed from the start.
    ///
    /// - Parameters:
    ///   - produce: writes the members of one reply's parameters and returns true, or returns false if there is nothing
    ///     to write now. It is called after the stream was woken, when there is room. So a client that does not read
    ///     costs no memory.
    ///   - onClose: called once, when the stream has ended for whatever reason.
    public func stream(
        _ produce: @escaping @EventLoop (inout JSONWriter) -> Bool, onClose: @escaping @EventLoop () -> Void
    ) -> VarlinkStream {
        precondition(wantsMore && state != .streaming, "only a call with more is a stream, and only once")
        guard state != .ended else {
            let stream = VarlinkStream(call: self, connection: nil, produce: produce, onClose: onClose)
            EventLoop.atEndOfTurn { stream.close() }
            return stream
        }
        state = .streaming
        let stream = VarlinkStream(call: self, connection: connection, produce: produce, onClose: onClose)
        connection.open(stream)
        return stream
    }

    // MARK: Streams

    /// Has the service's streams write now, as far as this turn has time for that.
    ///
    /// Use it in a call that makes what they would write obsolete.
    public func pumpStreams() { connection.service.streams.pump() }

    /// Holds up the client's next calls while streams are behind (`FlowControl`).
    ///
    /// Use it in a call that gives streams something to write.
    public func letStreamsCatchUp() { connection.holdUp() }

    // MARK: -

    /// The handler has returned, so the memory of the text may be reused.
    func handlerReturned() {
        message = nil
    }

    /// The client has left.
    func abandon() {
        state = .ended
        resumeDeparture()
    }

    /// Ends the call; returns false if it had ended before.
    private func end() -> Bool {
        guard state != .ended else { return false }
        state = .ended
        return true
    }

    private func resumeDeparture() {
        onDeparture?.resume()
        onDeparture = nil
    }
}
