// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO

/// A call as it was read, with the way to its method.
struct ReceivedCall {
    var envelope: CallEnvelope
    let route: Route
    /// Whether the envelope is only expected (``ExpectedEnvelope``), and the parameters have not proved it right.
    var isUnverified = false
}

/// One call of a client.
///
/// It is answered exactly once, or streams, or is oneway and not answered at all.
@EventLoop
public final class VarlinkCall {
    private enum State {
        /// Nobody has answered yet.
        case open
        /// A child task of the service's answers.
        case performing
        case streaming
        case ended
    }

    /// The method's name without its interface.
    public var method: String { route.method }
    /// The method's place among the methods of its interface's description, counted from 0.
    public var methodIndex: Int { route.index }
    /// Whether the method changes nothing (``VarlinkInterface/onlyReads(_:)``).
    public var onlyReads: Bool { route.onlyReads }
    /// Whether the client wants more than one reply.
    public var wantsMore: Bool { received.envelope.wantsMore }
    /// Whether the client wants no reply.
    public var isOneway: Bool { received.envelope.isOneway }
    /// Whether an answer would reach the client: it wants one, and has not left.
    public var isHeard: Bool { !isOneway && connection.mayReply }
    /// Whether the client wants to speak another protocol after the reply (``upgrade(_:then:)``).
    public var wantsUpgrade: Bool { received.envelope.wantsUpgrade }
    var route: Route { received.route }
    /// Whether it comes from this process itself (``VarlinkService/add(_:isInternal:)``).
    public var isInternal: Bool { connection.isInternal }
    /// The process that calls, as it was when it connected.
    public var caller: PeerCredentials { connection.caller }

    private let connection: ServerConnection
    private var received: ReceivedCall
    /// The call's own text, in memory that is valid while its handler runs.
    private var message: UnsafeRawBufferPointer?
    private var state = State.open
    private var onDeparture: CheckedContinuation<Void, Never>?

    init(_ received: consuming ReceivedCall, in message: UnsafeRawBufferPointer, connection: ServerConnection) {
        self.received = received
        self.message = message
        self.connection = connection
    }

    /// Makes a call that has ended, and that nobody else holds, the next one of its connection.
    func become(_ received: consuming ReceivedCall, in message: UnsafeRawBufferPointer) {
        self.received = received
        self.message = message
        state = .open
    }

    deinit {
        guard state != .ended else { return }
        // Whoever was to answer has let go of it: the client must not wait for ever.
        EventLoop.perform { [connection, received] in
            connection.callWasForgotten(received.route.fullName, isOneway: received.envelope.isOneway)
        }
    }

    /// Whether the envelope is only expected, and the parameters have not proved it right.
    var isUnverified: Bool { received.isUnverified }

    /// Whether the call has been answered to its end, or its client is gone.
    public var isEnded: Bool { state == .ended }

    /// Reads the parameters; absent, `null` and `{}` are the same.
    ///
    /// Only while ``VarlinkInterface/handle(_:)`` runs.
    ///
    /// - Throws: `InvalidParameter` with the name of the one that is unknown, missing or of another type.
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

    /// Reads the parameters where they are expected, or else where the whole message says that they are.
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

    /// The descriptors that came with the call; none unless the service passes descriptors (``VarlinkService/passesDescriptors``).
    ///
    /// Only while ``VarlinkInterface/handle(_:)`` runs. After that, those that nobody holds are closed.
    public var descriptors: [OwnedDescriptor] { message == nil ? [] : connection.transport.passing?.current ?? [] }

    // MARK: Answering

    /// Answers; `body` writes the members of the reply's parameters.
    ///
    /// Where the client is gone it is not called.
    public func reply(_ body: (inout JSONWriter) -> Void = { _ in }) {
        guard end() else { return }
        if !isOneway { connection.transport.write { $0.member("parameters", body) } }
        connection.callEnded()
    }

    /// Answers, and sends descriptors with the reply.
    ///
    /// - Parameters:
    ///   - descriptors: at most 253, which stay open until they have been sent.
    ///   - body: writes the members of the reply's parameters.
    /// - Throws: ``IOError/Code/systemCall`` if there are too many, or none can be passed on this connection. Then the call is not answered yet.
    public func reply(
        descriptors: [OwnedDescriptor], _ body: (inout JSONWriter) -> Void = { _ in }
    ) throws(IOError) {
        try DescriptorPassing.check(descriptors, on: connection.transport)
        guard end() else { return }
        if !isOneway { connection.transport.write(descriptors) { $0.member("parameters", body) } }
        connection.callEnded()
    }

    /// Answers with a reply that may be long: it is written piece by piece, as the client takes it.
    ///
    /// - Parameter body: writes the next members of the reply's parameters, or a part of one, and returns whether there is more. It is not
    ///   called if nobody hears the answer.
    public func reply(inPieces body: @escaping @EventLoop (inout JSONWriter) -> Bool) {
        guard end() else { return }
        if isOneway { connection.callEnded() } else { connection.write(MessageInPieces(continues: false, body)) }
    }

    /// Answers a call with ``wantsUpgrade``, and gives up the connection to another protocol.
    ///
    /// A call without it gets the error `InvalidParameter`, since an answer would be lost on its client.
    ///
    /// - Parameters:
    ///   - body: writes the members of the reply's parameters.
    ///   - handOver: gets the connection when the reply has been sent, with what the client sent after the call, even if the client has left meanwhile;
    ///     it is not called if the service ends before. The service does not count the connection any more.
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

    /// Answers that the service does not have the method.
    public func failNotImplemented() { fail(.methodNotImplemented(route.fullName)) }

    /// Answers later: `body` runs on the loop as a child task of the service's.
    ///
    /// It is cancelled when the client leaves and when the service ends.
    ///
    /// The connection's next call waits until this one is answered. A body that ends without an answer ends the connection.
    public func perform(_ body: @escaping @EventLoop @Sendable (VarlinkCall) async -> Void) {
        guard state == .open else { return }
        state = .performing
        connection.service.enqueue { [self] in await run(body) }
    }

    /// Closes the connection without an answer, as happens to everybody whose calls a service does not get to before it ends.
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
        // Where the call still waits and nobody holds it any more, that is found out as it goes.
        if state == .performing { state = .open }
    }

    /// Returns when the body has ended or the client is gone.
    private func departure() async {
        await withCheckedContinuation { continuation in
            onDeparture = continuation
            if state == .ended { resumeDeparture() }
        }
    }

    /// Makes the call a stream, as the answer to `more`.
    ///
    /// Where the client is gone already, the stream is closed from the beginning.
    ///
    /// - Parameters:
    ///   - produce: writes the members of one reply's parameters and returns true, or returns false where there is nothing to say now. It is
    ///     asked when the stream was woken and there is room: so what is not written yet stays where it comes from, and a client
    ///     who does not read costs no memory.
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

    /// Has the service's streams write what they have been woken for, as far as the turn has time for that.
    ///
    /// For a call that takes away what they would say.
    public func pumpStreams() { connection.service.streams.pump() }

    /// Has what the client calls next wait if streams are behind (``FlowControl``).
    ///
    /// For a call that gives them something to say.
    public func letStreamsCatchUp() { connection.holdUp() }

    // MARK: -

    /// The handler has returned: the memory of the call's text is used for something else from now on.
    func handlerReturned() {
        message = nil
    }

    /// The client is gone.
    func abandon() {
        state = .ended
        resumeDeparture()
    }

    /// Ends the call; returns whether it had not ended before.
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
