// SPDX-License-Identifier: Apache-2.0

public import Systemd

/// A client's connection to a Varlink service. One call at a time: a stream takes the connection for itself.
@EventLoop
public final class VarlinkConnection {
    private var transport: Transport
    private var inbox = Inbox()
    private var waiting: CheckedContinuation<[UInt8], any Error>?

    /// The longest reply, in bytes.
    private static let maximumReplyBytes = 64 * 1024 * 1024

    /// Connects to the service at `address`.
    ///
    /// Where the service's backlog is full it waits, at most `timeout`; not on the loop.
    @concurrent
    public nonisolated static func connect(
        to address: UnixAddress, timeout: Duration = .seconds(5)
    ) async throws(VarlinkClientError) -> VarlinkConnection {
        do {
            let descriptor = try UnixSocket.connect(to: address, timeout: timeout)
            return try await VarlinkConnection(descriptor)
        } catch {
            throw VarlinkClientError(error)
        }
    }

    /// Takes over a connected socket.
    public init(_ descriptor: OwnedDescriptor) throws(SystemdError) {
        let reference = WeakReference()
        transport = try Transport(descriptor, noticesHangUp: false) { reference.connection?.ready($0) }
        // Nothing is read before somebody waits for it: a reader who is slow holds up the service's stream, not this process's memory.
        transport.wantsInput = false
        reference.connection = self
    }

    private final class WeakReference { weak var connection: VarlinkConnection? }

    isolated deinit { transport.close() }

    /// Closes the connection; who waits for a reply gets an error.
    public func close() {
        transport.close()
        waiting?.resume(throwing: VarlinkClientError.closed)
        waiting = nil
    }

    // MARK: Calling

    /// Calls a method and returns its reply.
    ///
    /// Cancelling the task closes the connection, by which the service knows that nobody waits any more.
    ///
    /// - Parameters:
    ///   - method: its full name.
    ///   - parameters: writes the members of its parameters.
    ///   - returning: the type of the reply's parameters.
    /// - Throws: ``VarlinkError`` for what the service answers, ``VarlinkClientError`` for all else.
    public func call<Reply: JSONReadable & Sendable>(
        _ method: String, _ parameters: (inout JSONWriter) -> Void = { _ in }, returning: Reply.Type = Reply.self
    ) async throws -> Reply {
        send(method, flag: nil, parameters)
        return try await receive(Reply.self).reply
    }

    /// Calls a method that nobody is to answer.
    public func callOneway(_ method: String, _ parameters: (inout JSONWriter) -> Void = { _ in }) {
        send(method, flag: "oneway", parameters)
    }

    /// Calls a method that answers with more than one reply.
    public func stream<Reply: JSONReadable & Sendable>(
        _ method: String, _ parameters: (inout JSONWriter) -> Void = { _ in }, of: Reply.Type = Reply.self
    ) -> VarlinkReplies<Reply> {
        send(method, flag: "more", parameters)
        return VarlinkReplies(connection: self)
    }

    private func send(_ method: String, flag: StaticString?, _ parameters: (inout JSONWriter) -> Void) {
        transport.write { writer in
            writer.object { writer in
                writer.member("method", method)
                writer.member("parameters", parameters)
                if let flag { writer.member(flag, true) }
            }
        }
    }

    // MARK: Receiving

    func receive<Reply: JSONReadable & Sendable>(_ type: Reply.Type) async throws -> (reply: Reply, continues: Bool) {
        let message = try await nextMessage()
        do {
            let envelope = try ReplyEnvelope(message)
            if let error = envelope.error { throw VarlinkError(name: error, parameters: envelope.parameters) }
            let reply = try JSONReader.read(envelope.parameters) { r throws(JSONError) in try Reply(from: &r) }
            return (reply, envelope.continues)
        } catch let error as JSONError {
            close()
            throw VarlinkClientError(.malformedReply, "the service's reply is not understood: \(error)")
        }
    }

    private func nextMessage() async throws -> [UInt8] {
        if let message = try inbox.take() { return message }
        guard transport.isOpen else { throw VarlinkClientError.closed }
        precondition(waiting == nil, "a Varlink connection answers one call at a time")
        return try await withTaskCancellationHandler {
            try Task.checkCancellation()
            return try await withCheckedThrowingContinuation { continuation in
                waiting = continuation
                transport.wantsInput = true
            }
        } onCancel: {
            EventLoop.perform { self.close() }
        }
    }

    private func ready(_ events: IOSource.Events) {
        guard !events.isDisjoint(with: [.readable, .hangUp, .error]) else { return }
        // A service that went away is noticed when the next reply is asked for: what it sent before is still to be read.
        guard waiting != nil else { return }
        do {
            try inbox.read(from: transport, limit: Self.maximumReplyBytes)
            guard let message = try inbox.take() else { return }
            transport.wantsInput = false
            waiting?.resume(returning: message)
        } catch {
            transport.close()
            waiting?.resume(throwing: error)
        }
        waiting = nil
    }
}

/// What was read and not taken yet.
private struct Inbox {
    private var bytes: [UInt8] = []
    private var start = 0
    private var scanned = 0

    /// The next whole message, without its NUL.
    mutating func take() throws(VarlinkClientError) -> [UInt8]? {
        guard let end = bytes[max(start, scanned)...].firstIndex(of: 0) else {
            scanned = bytes.count
            return nil
        }
        let message = Array(bytes[start..<end])
        start = end + 1
        scanned = start
        if start == bytes.count {
            bytes.removeAll(keepingCapacity: bytes.count <= 128 * 1024)
            start = 0
            scanned = 0
        }
        return message
    }

    @EventLoop mutating func read(from transport: Transport, limit: Int) throws(VarlinkClientError) {
        if start > 0 {
            bytes.removeFirst(start)
            scanned -= start
            start = 0
        }
        guard bytes.count <= limit else {
            throw VarlinkClientError(.malformedReply, "the service's reply is longer than \(limit) bytes")
        }
        let input = withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 16) { buffer in
            let input = transport.read(into: buffer)
            if case .bytes(let count) = input { bytes.append(contentsOf: buffer[..<count]) }
            return input
        }
        switch input {
        case .bytes, .nothing: return
        case .end, .broken: throw .closed
        }
    }
}
