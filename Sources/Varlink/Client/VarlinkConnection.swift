// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO

/// A client's connection to a Varlink service.
///
/// Calls may be concurrent; the service answers them in order. A stream blocks the calls after it until it ends.
///
/// If the task of a call is cancelled, its reply is dropped when it arrives, and other calls continue. The protocol has
/// no message that tells the service; only ``close()`` does. The connection is closed if an abandoned stream does not
/// end within 5 s, 4096 replies or 4 MiB, or if more than 256 cancelled calls are unanswered.
@EventLoop
public final class VarlinkConnection {
    typealias Ticket = ClientStateMachine.Ticket

    /// The event that resumes a caller.
    enum Outcome {
        case message(ReplyEnvelope, UnsafeRawBufferPointer)
        case cancelled
        case failed(VarlinkClientError)
    }

    private let transport: Transport
    /// The service, if it was started for this connection.
    private var process: ServiceProcess?
    private let limits: ClientStateMachine.Limits
    private var machine: ClientStateMachine
    /// The waiting callers; each returns an error if it cannot read the message.
    private var callers: [Ticket: @EventLoop (Outcome) -> VarlinkClientError?] = [:]
    private var drainTimer: TimerSource?

    /// The default timeout of replies, the same as in sd-varlink.
    public nonisolated static let replyTimeout = Duration.seconds(45)
    /// The longest reply, in bytes.
    private static let maximumReplyBytes = 64 * 1024 * 1024

    /// Connects to a service.
    ///
    /// - Parameters:
    ///   - address: a Unix socket.
    ///   - timeout: how long to wait while the service's backlog is full.
    public nonisolated static func connect(
        to address: UnixAddress, timeout: Duration = .seconds(5)
    ) async throws(VarlinkClientError) -> VarlinkConnection {
        try await connect(to: .unix(address), timeout: timeout)
    }

    /// Connects to a service, or starts it.
    ///
    /// A started program ends with the connection: it gets SIGTERM, and SIGKILL after 5 s.
    ///
    /// - Parameters:
    ///   - address: a Unix socket, an internet socket or a program.
    ///   - timeout: how long to wait for the host's address, its answer, and room in the service's backlog.
    ///   - errorOutput: standard error of a program; nil for this process's own.
    public nonisolated static func connect(
        to address: VarlinkAddress, timeout: Duration = .seconds(5), errorOutput: OwnedDescriptor? = nil
    ) async throws(VarlinkClientError) -> VarlinkConnection {
        do throws(IOError) {
            switch address {
            case .unix(let address, _):
                return try await VarlinkConnection(UnixSocket.connect(to: address, timeout: timeout))
            case .tcp(let host, let port):
                return try await VarlinkConnection(TCPSocket.connect(to: host, port: port, timeout: timeout))
            case .exec(let path, let arguments), .bridge(let path, let arguments):
                let form: ServiceProcess.Program.Form = if case .exec = address { .service } else { .bridge }
                let (connection, process) = try await ServiceProcess.start(
                    ServiceProcess.Program(path: path, arguments: arguments, form: form, errorOutput: errorOutput),
                    within: timeout)
                return try await VarlinkConnection(connection, process: process)
            }
        } catch {
            throw VarlinkClientError(error)
        }
    }

    /// Takes over a connected socket.
    public convenience init(_ descriptor: OwnedDescriptor) throws(IOError) {
        try self.init(descriptor, process: nil)
    }

    init(
        _ descriptor: OwnedDescriptor, process: ServiceProcess? = nil,
        limits: ClientStateMachine.Limits = ClientStateMachine.Limits()
    ) throws(IOError) {
        transport = Transport(descriptor)
        self.process = process
        self.limits = limits
        machine = ClientStateMachine(limits: limits)
        // Nothing is read until a caller waits. A slow reader therefore slows the service down, instead of filling
        // this process's memory.
        try transport.open { [weak self] in self?.ready($0) }
    }

    isolated deinit {
        drainTimer?.cancel()
        transport.close()
        process?.end()
    }

    /// Closes the connection; waiting callers get an error.
    public func close() { perform(machine.fail(.closedByCaller)) }

    var isOpen: Bool { transport.isOpen }

    // MARK: Sending

    func checkMayCall() throws(VarlinkClientError) { try machine.checkMayCall() }

    /// Sends a call that expects a reply; returns its ticket.
    func send(
        _ method: String, _ kind: PendingCalls.Kind, _ parameters: (inout JSONWriter) -> Void
    ) throws(VarlinkClientError) -> Ticket {
        let ticket = try machine.call(kind)
        write(method, kind == .stream ? "more" : nil, parameters)
        return ticket
    }

    func write(_ method: String, _ flag: StaticString?, _ parameters: (inout JSONWriter) -> Void) {
        transport.write { writer in
            writer.member("method", method)
            writer.member("parameters", parameters)
            if let flag { writer.member(flag, true) }
        }
    }

    // MARK: Callers

    /// Resumes `caller` with the next reply; it returns an error if it cannot read the reply.
    func wait(_ ticket: Ticket, _ caller: @escaping @EventLoop (Outcome) -> VarlinkClientError?) {
        callers[ticket] = caller
        perform(machine.wait(ticket))
    }

    /// Whether a caller is still waiting.
    func isWaiting(_ ticket: Ticket) -> Bool { callers[ticket] != nil }

    /// A caller has left, or has released its stream.
    func abandon(_ ticket: Ticket) { perform(machine.cancel(ticket)) }

    /// A caller's timeout has expired.
    func timeOut(_ ticket: Ticket, after time: Duration) {
        let error = VarlinkClientError(.timedOut, "no answer within \(time.text)")
        perform(machine.timeOut(ticket, error))
    }

    // MARK: Receiving

    private func ready(_ events: IOSource.Events) {
        // A closed connection is noticed when the next reply is requested, because earlier replies must be read first.
        guard transport.interest.contains(.readable), !events.isDisjoint(with: [.readable, .hangUp, .error]) else {
            return
        }
        let result = transport.read()
        takeMessages()
        guard machine.wantsMessage else { return }
        if result == .ended {
            perform(machine.fail(.closed))
        } else if result == .descriptors {
            perform(machine.fail(.malformed("it came with descriptors")))
        } else if transport.input.count > Self.maximumReplyBytes {
            perform(machine.fail(.malformed("longer than \(Self.maximumReplyBytes) bytes")))
        }
    }

    private func perform(_ effects: ClientStateMachine.Effects) {
        carryOut(effects)
        takeMessages()
    }

    /// Takes read messages while the machine wants them, and keeps reading if it wants more.
    private func takeMessages() {
        while machine.wantsMessage, let message = transport.input.takeMessage() { take(message) }
        transport.interest = machine.wantsMessage ? .readable : []
    }

    private func take(_ message: UnsafeRawBufferPointer) {
        do throws(JSONError) {
            let envelope = try ReplyEnvelope(message)
            let effects = machine.message(
                bytes: message.count, continues: envelope.continues, isError: envelope.error != nil)
            carryOut(effects, .message(envelope, message))
        } catch {
            carryOut(machine.fail(.malformed("\(error)")))
        }
    }

    private func carryOut(_ effects: ClientStateMachine.Effects, _ outcome: Outcome = .cancelled) {
        if effects.closes {
            transport.close()
            process?.end()
        }
        if let change = effects.drainTimer { limitDraining(change) }
        if let ticket = effects.delivery, let error = callers.removeValue(forKey: ticket)?(outcome) {
            carryOut(machine.fail(error))
        }
        if let ticket = effects.cancelled { _ = callers.removeValue(forKey: ticket)?(.cancelled) }
        guard let failure = effects.failure else { return }
        for ticket in effects.failed { _ = callers.removeValue(forKey: ticket)?(.failed(failure)) }
    }

    private func limitDraining(_ change: ClientStateMachine.DrainTimer) {
        guard change == .start else { return drainTimer?.stop() ?? () }
        do throws(IOError) {
            if drainTimer == nil { drainTimer = try TimerSource { [weak self] in self?.drainTimeOut() } }
            drainTimer?.schedule(after: limits.streamTime)
        } catch {
            // Without a timer there would be no limit.
            carryOut(machine.drainTimeOut())
        }
    }

    private func drainTimeOut() { perform(machine.drainTimeOut()) }
}
