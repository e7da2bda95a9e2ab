// SPDX-License-Identifier: Apache-2.0

public import Systemd

/// One call of a client. It is answered exactly once, or streams, or is oneway and not answered at all.
@EventLoop
public final class VarlinkCall {
    private enum State {
        case open
        case streaming
        case ended
    }

    /// The method's name without its interface.
    public let method: String
    /// Whether the client wants more than one reply.
    public let wantsMore: Bool
    /// Whether the client wants no reply.
    public let isOneway: Bool
    /// Who calls.
    public let credentials: PeerCredentials

    private unowned let connection: ServerConnection
    private let fullMethod: String
    private var rawParameters: UnsafeRawBufferPointer?
    private var hasReturned = false
    private var state = State.open
    private var onDeparture: CheckedContinuation<Void, Never>?

    init(
        _ envelope: CallEnvelope, method: String, parameters: UnsafeRawBufferPointer?, connection: ServerConnection
    ) {
        self.method = method
        fullMethod = envelope.method
        wantsMore = envelope.wantsMore
        isOneway = envelope.isOneway
        credentials = connection.credentials
        rawParameters = parameters
        self.connection = connection
    }

    /// Whether the call has been answered to its end, or its client is gone.
    public var isEnded: Bool { state == .ended }

    /// Reads the parameters; absent, `null` and `{}` are the same. Only while ``VarlinkInterface/handle(_:)`` runs.
    ///
    /// - Throws: `InvalidParameter` with the name of the one that is unknown, missing or of another type.
    public func parameters<Parameters: JSONReadable>(
        _ type: Parameters.Type = Parameters.self
    ) throws(VarlinkError) -> Parameters {
        precondition(!hasReturned, "a call's parameters are read before its handler returns")
        do throws(JSONError) {
            guard let rawParameters else { return try JSONReader.read(Array("{}".utf8)) { r throws(JSONError) in try Parameters(from: &r) } }
            return try JSONReader.read(rawParameters) { r throws(JSONError) in try Parameters(from: &r) }
        } catch {
            throw .invalidParameter(error.member ?? "parameters")
        }
    }

    // MARK: Answering

    /// Answers; `body` writes the members of the reply's parameters.
    public func reply(_ body: (inout JSONWriter) -> Void = { _ in }) {
        guard end() else { return }
        if !isOneway {
            connection.transport.write { writer in
                writer.object { $0.member("parameters", body) }
            }
        }
        connection.callEnded()
    }

    /// Answers with an error.
    public func fail(_ error: VarlinkError) {
        guard end() else { return }
        if !isOneway {
            connection.transport.write { writer in
                writer.object { writer in
                    writer.member("error", error.name)
                    writer.member("parameters", raw: error.parameters)
                }
            }
        }
        connection.callEnded()
    }

    /// Answers that the service does not have the method.
    public func failNotImplemented() { fail(.methodNotImplemented(fullMethod)) }

    /// Answers later: `body` runs on the loop as a child task of the service's, and is cancelled when the client leaves.
    ///
    /// The connection's next call waits until this one is answered. A body that ends without an answer ends the connection.
    public func perform(_ body: @escaping @EventLoop @Sendable (VarlinkCall) async -> Void) {
        connection.service.enqueue { [self] in await run(body) }
    }

    private func run(_ body: @escaping @EventLoop @Sendable (VarlinkCall) async -> Void) async {
        guard state == .open else { return }
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
        depart()
        if end() { connection.close() }
    }

    /// Returns when the body has ended or the client is gone.
    private func departure() async {
        await withCheckedContinuation { onDeparture = $0 }
    }

    /// Makes the call a stream, as the answer to `more`.
    ///
    /// - Parameters:
    ///   - produce: writes the members of one reply's parameters and returns true, or returns false where there is nothing to say now. It is
    ///     asked when the stream was woken and there is room: so what is not written yet stays where it comes from, and a client
    ///     who does not read costs no memory.
    ///   - onClose: called once, when the stream has ended for whatever reason.
    public func stream(
        _ produce: @escaping @EventLoop (inout JSONWriter) -> Bool, onClose: @escaping @EventLoop () -> Void
    ) -> VarlinkStream {
        precondition(state == .open && wantsMore, "only a call with more is a stream, and only once")
        state = .streaming
        let stream = VarlinkStream(call: self, connection: connection, produce: produce, onClose: onClose)
        connection.stream = stream
        return stream
    }

    // MARK: -

    /// The handler has returned: the parameters' memory is used for something else from now on.
    func handlerReturned() {
        hasReturned = true
        rawParameters = nil
    }

    /// The client is gone.
    func abandon() {
        state = .ended
        depart()
    }

    /// Ends the call; returns whether it had not ended before.
    func end() -> Bool {
        guard state != .ended else { return false }
        state = .ended
        return true
    }

    private func depart() {
        onDeparture?.resume()
        onDeparture = nil
    }
}
