// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO

/// A client's connection to a Varlink service.
///
/// Calls may be made side by side; the service answers them one after another, in their order. A stream takes the connection for
/// itself until it ends.
@EventLoop
public final class VarlinkConnection {
    /// The place of a call in the order of the replies.
    typealias Ticket = Int

    private let transport: Transport
    /// The call that the next reply is for.
    ///
    /// Those from here to `nextTicket` have not been answered to their end.
    private var answered: Ticket = 0
    private var nextTicket: Ticket = 0
    private var waiting: [Ticket: CheckedContinuation<Void, Never>] = [:]
    /// The calls whose callers have left: what is answered to them is dropped.
    private var abandoned: Set<Ticket> = []
    /// Why no more replies can come.
    private var failure: VarlinkClientError?

    /// How long a service has to answer, unless the caller says otherwise; sd-varlink gives it as long.
    public nonisolated static let replyTimeout = Duration.seconds(45)
    /// The longest reply, in bytes.
    private static let maximumReplyBytes = 64 * 1024 * 1024

    /// Connects to the service at `address`.
    ///
    /// Waits up to `timeout` while the service's backlog is full.
    public nonisolated static func connect(
        to address: UnixAddress, timeout: Duration = .seconds(5)
    ) async throws(VarlinkClientError) -> VarlinkConnection {
        do {
            let descriptor = try await UnixSocket.connect(to: address, timeout: timeout)
            return try await VarlinkConnection(descriptor)
        } catch {
            throw VarlinkClientError(error)
        }
    }

    /// Takes over a connected socket.
    public init(_ descriptor: OwnedDescriptor) throws(IOError) {
        transport = Transport(descriptor)
        // Nothing is read before somebody waits for it: a reader who is slow holds up the service's stream, not this process's memory.
        try transport.open { [weak self] in self?.ready($0) }
    }

    isolated deinit { transport.close() }

    /// Closes the connection; who waits for a reply gets an error.
    public func close() {
        fail(VarlinkClientError(.closed, "the connection was closed"))
    }

    // MARK: Calling

    /// Calls a method and returns its reply.
    ///
    /// If the task is cancelled the reply is dropped. If nobody else waits for one, the connection is closed, which tells the service.
    ///
    /// - Parameters:
    ///   - method: its full name.
    ///   - parameters: writes the members of its parameters.
    ///   - returning: the type of the reply's parameters.
    ///   - timeout: how long to wait for the reply, calls before it included; nil: for ever. Past it the connection is closed.
    /// - Throws: ``VarlinkError`` for what the service answers, `CancellationError`, ``VarlinkClientError`` for all else.
    public func call<Reply: JSONReadable & Sendable>(
        _ method: String, _ parameters: (inout JSONWriter) -> Void = { _ in }, returning: Reply.Type = Reply.self,
        timeout: Duration? = replyTimeout
    ) async throws -> Reply {
        try checkOpen()
        let ticket = send(method, flag: nil, parameters)
        let (reply, continues) = try await receive(Reply.self, for: ticket, within: timeout)
        guard !continues else { throw refuse("more replies than were asked for") }
        return reply
    }

    /// Calls a method that nobody is to answer.
    public func callOneway(
        _ method: String, _ parameters: (inout JSONWriter) -> Void = { _ in }
    ) throws(VarlinkClientError) {
        try checkOpen()
        write(method, flag: "oneway", parameters)
    }

    /// Calls a method that answers with more than one reply.
    ///
    /// The call is sent at once. When nobody holds the replies any more before they have ended, the connection is closed, since
    /// there is no other way to tell the service.
    ///
    /// - Parameters:
    ///   - timeout: how long to wait for the first reply; nil: for ever. Past it the connection is closed.
    ///   - silence: the same for each further one.
    public func stream<Reply: JSONReadable & Sendable>(
        _ method: String, _ parameters: (inout JSONWriter) -> Void = { _ in }, of: Reply.Type = Reply.self,
        timeout: Duration? = replyTimeout, silence: Duration? = nil
    ) throws(VarlinkClientError) -> VarlinkReplies<Reply> {
        try checkOpen()
        let ticket = send(method, flag: "more", parameters)
        return VarlinkReplies(
            source: RepliesSource(connection: self, ticket: ticket, timeout: timeout, silence: silence))
    }

    private func checkOpen() throws(VarlinkClientError) {
        if let failure { throw failure }
    }

    private func send(
        _ method: String, flag: StaticString?, _ parameters: (inout JSONWriter) -> Void
    ) -> Ticket {
        write(method, flag: flag, parameters)
        defer { nextTicket += 1 }
        return nextTicket
    }

    private func write(_ method: String, flag: StaticString?, _ parameters: (inout JSONWriter) -> Void) {
        transport.write { writer in
            writer.member("method", method)
            writer.member("parameters", parameters)
            if let flag { writer.member(flag, true) }
        }
    }

    // MARK: Receiving

    /// Waits for the next reply to a call.
    func receive<Reply: JSONReadable & Sendable>(
        _ type: Reply.Type, for ticket: Ticket, within timeout: Duration?
    ) async throws -> (reply: Reply, continues: Bool) {
        var timer: TimerSource?
        defer { timer?.cancel() }
        while true {
            // Its reply may have been dropped already.
            if abandoned.contains(ticket) || ticket < answered { throw CancellationError() }
            if ticket == answered, let message = transport.input.takeMessage() {
                defer { passOn() }
                return try decode(message)
            }
            if let failure {
                try Task.checkCancellation()
                throw failure
            }
            if timer == nil, let timeout { timer = try startTimer(timeout) }
            await waitForReply(ticket)
        }
    }

    /// Forgets a stream whose end nobody waits for.
    func abandon(_ ticket: Ticket) {
        if ticket >= answered { close() }
    }

    private func startTimer(_ timeout: Duration) throws(VarlinkClientError) -> TimerSource {
        do throws(IOError) {
            let timer = try TimerSource { [weak self] in
                self?.fail(VarlinkClientError(.timedOut, "no answer within \(timeout.components.seconds) s"))
            }
            timer.schedule(after: timeout)
            return timer
        } catch {
            throw VarlinkClientError(error)
        }
    }

    /// The caller of a call has left; the others still wait for their replies.
    private func leave(_ ticket: Ticket) {
        guard failure == nil, ticket >= answered else { return }
        abandoned.insert(ticket)
        if (answered..<nextTicket).allSatisfy(abandoned.contains) { return close() }
        waiting.removeValue(forKey: ticket)?.resume()
        passOn()
    }

    /// Drops what has come for calls whose callers have left.
    private func dropAbandoned() {
        while abandoned.contains(answered), let message = transport.input.takeMessage() {
            guard let envelope = try? ReplyEnvelope(message) else { return _ = refuse("not a reply") }
            if envelope.continues { continue }
            abandoned.remove(answered)
            answered += 1
        }
    }

    private func decode<Reply: JSONReadable>(_ message: UnsafeRawBufferPointer) throws -> (Reply, Bool) {
        let envelope: ReplyEnvelope
        do throws(JSONError) { envelope = try ReplyEnvelope(message) } catch { throw refuse("\(error)") }
        if !envelope.continues { answered += 1 }
        if let error = envelope.error {
            let parameters = envelope.parameters.map { Array(message[$0]) }
            throw VarlinkError(name: error, parameters: parameters ?? Array("{}".utf8))
        }
        do throws(JSONError) {
            let reply = try JSONReader.readParameters(message, envelope.parameters, as: Reply.self)
            return (reply, envelope.continues)
        } catch {
            throw refuse("\(error)")
        }
    }

    /// Closes the connection to a service that does not speak Varlink, or not as the caller knows it.
    private func refuse(_ reason: String) -> VarlinkClientError {
        let error = VarlinkClientError(.malformedReply, "the service's reply is not understood: \(reason)")
        fail(error)
        return error
    }

    private func waitForReply(_ ticket: Ticket) async {
        precondition(waiting[ticket] == nil, "the replies of a stream have one consumer")
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // A task that is cancelled already has left by now, or closed the connection.
                guard failure == nil, !abandoned.contains(ticket) else { return continuation.resume() }
                waiting[ticket] = continuation
                passOn()
            }
        } onCancel: {
            EventLoop.perform { self.leave(ticket) }
        }
    }

    /// Wakes who waits for the next reply if it is there, and else sees to it that the socket is read.
    private func passOn() {
        dropAbandoned()
        guard waiting[answered] != nil || abandoned.contains(answered) && !waiting.isEmpty else {
            return transport.interest = []
        }
        if transport.input.hasMessage() {
            waiting.removeValue(forKey: answered)?.resume()
        } else {
            transport.interest = .input
        }
    }

    private func fail(_ error: VarlinkClientError) {
        guard failure == nil else { return }
        failure = error
        transport.close()
        let waiting = waiting
        self.waiting = [:]
        for continuation in waiting.values { continuation.resume() }
    }

    private func ready(_ events: IOSource.Events) {
        // That the service has gone is noticed when the next reply is asked for: what it sent before is still to be read.
        guard transport.interest.contains(.input), !events.isDisjoint(with: [.readable, .hangUp, .error]) else {
            return
        }
        let result = transport.read()
        if transport.input.hasMessage() {
            transport.interest = []
            passOn()
        } else if result == .ended {
            fail(VarlinkClientError(.closed, "the service has closed the connection"))
        } else if transport.input.count > Self.maximumReplyBytes {
            _ = refuse("longer than \(Self.maximumReplyBytes) bytes")
        }
    }
}
