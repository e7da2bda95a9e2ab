// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO

extension VarlinkConnection {
    /// Calls a method and returns its reply.
    ///
    /// If the task is cancelled the call returns at once, and its reply is dropped when it comes.
    ///
    /// - Parameters:
    ///   - method: its full name.
    ///   - parameters: writes the members of its parameters.
    ///   - returning: the type of the reply's parameters.
    ///   - timeout: how long to wait for the reply, calls before it included; nil: for ever. After that the connection is closed.
    /// - Throws: ``VarlinkError`` for what the service answers, `CancellationError`, ``VarlinkClientError`` for all else.
    public func call<Reply: JSONReadable & Sendable>(
        _ method: String, _ parameters: (inout JSONWriter) -> Void = { _ in }, returning: Reply.Type = Reply.self,
        timeout: Duration? = replyTimeout
    ) async throws -> Reply {
        let ticket = try send(method, .single, parameters)
        return try await receive(Reply.self, for: ticket, within: timeout).reply
    }

    /// Calls a method with descriptors; returns its reply, and the descriptors that came with it.
    ///
    /// ``allowDescriptors()`` must have been called.
    ///
    /// - Parameters:
    ///   - method: its full name.
    ///   - parameters: writes the members of its parameters.
    ///   - descriptors: at most 253, which stay open until they have been sent.
    ///   - returning: the type of the reply's parameters.
    ///   - timeout: as for ``call(_:_:returning:timeout:)``.
    /// - Throws: what ``call(_:_:returning:timeout:)`` does, and ``VarlinkClientError/Code/system`` if the descriptors cannot be passed.
    public func call<Reply: JSONReadable & Sendable>(
        _ method: String, _ parameters: (inout JSONWriter) -> Void = { _ in }, descriptors: [OwnedDescriptor],
        returning: Reply.Type = Reply.self, timeout: Duration? = replyTimeout
    ) async throws -> (reply: Reply, descriptors: [OwnedDescriptor]) {
        let ticket = try send(method, .single, parameters, descriptors: descriptors)
        let received = try await receive(Reply.self, for: ticket, within: timeout)
        return (received.reply, received.descriptors)
    }

    /// Calls a method that upgrades the connection to another protocol; returns its reply, and the connection.
    ///
    /// No further call can be made, unless the service answers with an error.
    ///
    /// - Parameters: those of ``call(_:_:returning:timeout:)``. If the task is cancelled and the service upgrades the connection, it
    ///   is closed.
    /// - Throws: what ``call(_:_:returning:timeout:)`` does. If that is an error of the service, the connection can still be used.
    public func upgrade<Reply: JSONReadable & Sendable>(
        _ method: String, _ parameters: (inout JSONWriter) -> Void = { _ in }, returning: Reply.Type = Reply.self,
        timeout: Duration? = replyTimeout
    ) async throws -> (reply: Reply, connection: UpgradedConnection) {
        let ticket = try send(method, .upgrade, parameters)
        let reply: Reply
        do {
            reply = try await receive(Reply.self, for: ticket, within: timeout).reply
        } catch {
            // Nobody would speak the other protocol.
            _ = takeUpgraded()
            throw error
        }
        guard let connection = takeUpgraded() else { throw VarlinkClientError.closed }
        return (reply, connection)
    }

    /// Calls a method that does not answer.
    ///
    /// - Parameters:
    ///   - method: its full name.
    ///   - parameters: writes the members of its parameters.
    ///   - descriptors: those of ``call(_:_:descriptors:returning:timeout:)``.
    public func callOneway(
        _ method: String, _ parameters: (inout JSONWriter) -> Void = { _ in }, descriptors: [OwnedDescriptor] = []
    ) throws(VarlinkClientError) {
        try check(descriptors)
        try checkMayCall()
        write(method, "oneway", parameters, descriptors)
    }

    /// Calls a method that answers with more than one reply.
    ///
    /// The call is sent at once. If nobody holds the replies any more before they have ended, the rest of them is dropped, within the
    /// bounds that ``VarlinkConnection`` describes.
    ///
    /// - Parameters:
    ///   - timeout: how long to wait for the first reply; nil: for ever. After that the connection is closed.
    ///   - silence: the same for each further one.
    public func stream<Reply: JSONReadable & Sendable>(
        _ method: String, _ parameters: (inout JSONWriter) -> Void = { _ in }, of: Reply.Type = Reply.self,
        timeout: Duration? = replyTimeout, silence: Duration? = nil
    ) throws(VarlinkClientError) -> VarlinkReplies<Reply> {
        let ticket = try send(method, .stream, parameters)
        return VarlinkReplies(
            source: RepliesSource(connection: self, ticket: ticket, timeout: timeout, silence: silence))
    }

    /// A reply, whether others follow, and what came with it.
    typealias Received<Reply> = (reply: Reply, continues: Bool, descriptors: [OwnedDescriptor])

    /// Waits for the next reply to a call.
    func receive<Reply: JSONReadable & Sendable>(
        _ type: Reply.Type, for ticket: Ticket, within timeout: Duration?
    ) async throws -> Received<Reply> {
        var timer: TimerSource?
        defer { timer?.cancel() }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                wait(ticket) { outcome in
                    let (result, error) = self.read(Reply.self, from: outcome)
                    continuation.resume(returning: result)
                    return error
                }
                if let timeout, isWaiting(ticket) { timer = startTimer(timeout, for: ticket) }
            }
        } onCancel: {
            EventLoop.perform { self.abandon(ticket) }
        }
        // A task that is cancelled gets nothing any more, whatever has come.
        try Task.checkCancellation()
        return try result.get()
    }

    private func startTimer(_ timeout: Duration, for ticket: Ticket) -> TimerSource? {
        do throws(IOError) {
            let timer = try TimerSource { [weak self] in self?.timeOut(ticket, after: timeout) }
            timer.schedule(after: timeout)
            return timer
        } catch {
            // Without a timer there would be no limit.
            timeOut(ticket, after: timeout)
            return nil
        }
    }

    /// Reads a reply; the error beside it is that of a service that does not speak Varlink as the caller knows it.
    private func read<Reply: JSONReadable & Sendable>(
        _ type: Reply.Type, from outcome: Outcome
    ) -> (Result<Received<Reply>, any Error>, VarlinkClientError?) {
        switch outcome {
        case .cancelled: return (.failure(CancellationError()), nil)
        case .failed(let error): return (.failure(error), nil)
        case .message(let envelope, let message):
            if let name = envelope.error {
                let parameters = envelope.parameters.map { Array(message[$0]) } ?? Array("{}".utf8)
                return (.failure(VarlinkError(name: name, parameters: parameters)), nil)
            }
            do throws(JSONError) {
                let reply = try JSONReader.readReply(message, envelope.parameters, as: Reply.self)
                return (.success((reply, envelope.continues, descriptors)), nil)
            } catch {
                let error = VarlinkClientError.malformed("\(error)")
                return (.failure(error), error)
            }
        }
    }
}
