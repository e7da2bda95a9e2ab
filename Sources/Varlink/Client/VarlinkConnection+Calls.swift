// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

extension VarlinkConnection {
    /// Calls a method and returns its reply.
    ///
    /// If the task is cancelled, the call returns at once, and its reply is dropped when it arrives.
    ///
    /// - Parameters:
    ///   - method: its full name.
    ///   - parameters: writes the members of its parameters.
    ///   - returning: the type of the reply's parameters.
    ///   - timeout: how long to wait for the reply, including the replies to earlier calls; nil means indefinitely. A
    ///     timeout closes the connection.
    /// - Throws: ``VarlinkError`` if the service answers with an error, `CancellationError`, or else
    ///   ``VarlinkClientError``.
    public func call<Reply: JSONReadable & Sendable>(
        _ method: String, _ parameters: (inout JSONWriter) -> Void = { _ in }, returning: Reply.Type = Reply.self,
        timeout: Duration? = replyTimeout
    ) async throws -> Reply {
        let ticket = try send(method, .single, parameters)
        return try await receive(Reply.self, for: ticket, within: timeout).reply
    }

    /// Calls a method without waiting for a reply.
    ///
    /// - Parameters:
    ///   - method: its full name.
    ///   - parameters: writes the members of its parameters.
    public func callOneway(
        _ method: String, _ parameters: (inout JSONWriter) -> Void = { _ in }
    ) throws(VarlinkClientError) {
        try checkMayCall()
        write(method, "oneway", parameters)
    }

    /// Calls a method that answers with more than one reply.
    ///
    /// The call is sent at once. Once the replies are released, the remaining ones are dropped, within the limits of
    /// ``VarlinkConnection``.
    ///
    /// - Parameters:
    ///   - method: its full name.
    ///   - parameters: writes the members of its parameters.
    ///   - of: the type of the replies' parameters.
    ///   - timeout: how long to wait for the first reply; nil means indefinitely. A timeout closes the connection.
    ///   - silence: the timeout of each further reply.
    public func stream<Reply: JSONReadable & Sendable>(
        _ method: String, _ parameters: (inout JSONWriter) -> Void = { _ in }, of: Reply.Type = Reply.self,
        timeout: Duration? = replyTimeout, silence: Duration? = nil
    ) throws(VarlinkClientError) -> VarlinkReplies<Reply> {
        let ticket = try send(method, .stream, parameters)
        return VarlinkReplies(
            source: RepliesSource(connection: self, ticket: ticket, timeout: timeout, silence: silence))
    }

    /// A reply, and whether more follow.
    typealias Received<Reply> = (reply: Reply, continues: Bool)

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
        // A cancelled task gets no reply, even if one has arrived.
        try Task.checkCancellation()
        return try result.get()
    }

    private func startTimer(_ timeout: Duration, for ticket: Ticket) -> TimerSource? {
        do throws(IOError) {
            let timer = try TimerSource { [weak self] in self?.timeOut(ticket, after: timeout) }
            timer.schedule(after: timeout)
            return timer
        } catch {
            // Without a timer there would be no timeout.
            timeOut(ticket, after: timeout)
            return nil
        }
    }

    /// Reads a reply; also returns the error that closes the connection if the reply is not valid.
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
                return (.success((reply, envelope.continues)), nil)
            } catch {
                let error = VarlinkClientError.malformed("\(error)")
                return (.failure(error), error)
            }
        }
    }
}
