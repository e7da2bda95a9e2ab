// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO

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
        /// A child task of the service performs a oneway call; the connection continues with the next call.
        case detached
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
    public let wantsMore: Bool
    /// Whether the client wants no reply.
    public let isOneway: Bool
    /// Whether the client wants to speak another protocol after the reply, which this service does not support.
    let wantsUpgrade: Bool
    let route: Route
    /// Whether it comes from this process (``VarlinkService/add(_:isInternal:)``).
    public var isInternal: Bool { connection.isInternal }
    /// The user of the calling process at the time it connected.
    public var userID: UInt32 { connection.credentials.userID }
    /// The ID of the calling process at the time it connected.
    public var processID: Int32 { connection.credentials.processID }
    /// The calling process at the time it connected, with its groups.
    public var caller: PeerCredentials { connection.caller }

    private let connection: ServerConnection
    /// The range of its parameters in its text; nil if there are none.
    private(set) var parameters: Range<Int>?
    /// Whether its parameters were read, and are not one JSON object.
    private(set) var hasBrokenParameters = false
    /// The call's text, which is valid while its handler runs.
    private var message: UnsafeRawBufferPointer?
    private var state = State.open
    private var onDeparture: CheckedContinuation<Void, Never>?

    init(
        _ envelope: borrowing CallEnvelope, route: Route, in message: UnsafeRawBufferPointer,
        connection: ServerConnection
    ) {
        (wantsMore, isOneway, wantsUpgrade) = (envelope.wantsMore, envelope.isOneway, envelope.wantsUpgrade)
        parameters = envelope.parameters
        self.route = route
        self.message = message
        self.connection = connection
    }

    /// Whether it was answered.
    var isOver: Bool { state == .ended }

    /// Begins the next call of the same method, with other parameters.
    func begin(_ parameters: Range<Int>, in message: UnsafeRawBufferPointer) {
        self.parameters = parameters
        self.message = message
        hasBrokenParameters = false
        state = .open
    }

    deinit {
        guard state != .ended, state != .detached else { return }
        // The call can no longer be answered, and the client must not wait forever.
        EventLoop.perform { [connection, route, isOneway] in
            connection.callWasForgotten(route.fullName, isOneway: isOneway)
        }
    }

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
            return try JSONReader.readParameters(message, parameters, as: Parameters.self)
        } catch {
            hasBrokenParameters = error.member == nil
            throw .service(.invalidParameter(error.member ?? "parameters"))
        }
    }

    // MARK: Answering

    /// Sends the reply.
    ///
    /// - Parameter body: writes the members of its parameters; not called if the client has left.
    public func reply(_ body: (inout JSONWriter) -> Void = { _ in }) {
        guard end() else { return }
        if !isOneway { connection.transport.write { $0.member("parameters", body) } }
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
    public func failNotImplemented() { fail(.service(.methodNotImplemented(route.fullName))) }

    /// Answers later: `body` runs as a child task of the service, on the loop.
    ///
    /// It is cancelled when the client leaves or the service ends. The connection's next call waits until this one is
    /// answered. If `body` ends without an answer, the connection is closed.
    ///
    /// After a oneway call the connection continues at once, and `body` is cancelled only when the service ends.
    public func perform(_ body: @escaping @EventLoop @Sendable (VarlinkCall) async -> Void) {
        guard state == .open else { return }
        state = isOneway ? .detached : .performing
        connection.service.enqueue { [self] in await run(body) }
        if isOneway { connection.callEnded() }
    }

    /// Closes the connection without an answer, as if the service had ended before the call.
    public func hangUp() {
        guard end() else { return }
        connection.callWasDropped()
    }

    /// Logs an error that the interface does not have, and closes the connection without an answer.
    public func hangUp(because error: any Error) {
        guard end() else { return }
        connection.callFailed(route.fullName, error)
    }

    private func run(_ body: @escaping @EventLoop @Sendable (VarlinkCall) async -> Void) async {
        if state == .detached { return await body(self) }
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
        // If the call is released without an answer, its deinitializer closes the connection.
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
    ///     to write now. It is called after the stream was woken, when there is room, so that a client that does not
    ///     read costs no memory.
    ///   - onClose: called once, when the stream has ended for any reason.
    public func stream(
        _ produce: @escaping @EventLoop (inout JSONWriter) -> Bool, onClose: @escaping @EventLoop () -> Void
    ) -> VarlinkStream {
        precondition(wantsMore && state != .streaming, "only a call with more is a stream, and only once")
        let stream = VarlinkStream(call: self, connection: connection, produce: produce, onClose: onClose)
        guard state != .ended else {
            EventLoop.atEndOfTurn { stream.close() }
            return stream
        }
        state = .streaming
        connection.open(stream)
        return stream
    }

    // MARK: Streams

    /// Lets the service's streams write now, within the time of this turn.
    ///
    /// Use it in a call that would make their pending output obsolete.
    public func pumpStreams() { connection.service.streams.pump() }

    // MARK: -

    /// The handler has returned, so the memory of the text may be reused.
    func handlerReturned() { message = nil }

    /// The client has left.
    func abandon() {
        state = .ended
        resumeDeparture()
    }

    /// Ends the call; returns false if it had ended before, or was oneway and its connection has continued.
    private func end() -> Bool {
        guard state != .ended, state != .detached else { return false }
        state = .ended
        return true
    }

    private func resumeDeparture() {
        onDeparture?.resume()
        onDeparture = nil
    }
}
