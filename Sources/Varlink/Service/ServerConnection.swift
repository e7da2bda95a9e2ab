// SPDX-License-Identifier: Apache-2.0

import Logging
import Systemd

/// One client's connection: messages in, calls one after another, replies out.
///
/// What a client has sent is handled even if it leaves at once, since a oneway call is sent in just that way; but what it would
/// wait for is cancelled the moment it leaves.
@EventLoop
final class ServerConnection {
    let credentials: PeerCredentials
    let transport: Transport
    /// The service, which holds its connections until they are closed.
    let service: VarlinkService
    /// The stream of the call that is being answered.
    private(set) var stream: VarlinkStream?

    /// What the next call probably looks like.
    private var expected: ExpectedEnvelope?
    /// A call that was answered at once and that its handler let go of, to be used again for the next one.
    private var spareCall: VarlinkCall?
    /// Whether a call is being answered; the next one waits.
    private var isBusy = false
    /// That call, once its handler has returned.
    ///
    /// Not held, so that one that everybody has forgotten is noticed.
    private weak var waitingCall: VarlinkCall?
    /// Whether the loop over the messages is on the stack.
    private var isHandling = false
    /// Whether the client will send no more.
    private var inputEnded = false
    /// Whether the client will read no more.
    private var hasDeparted = false

    init(_ descriptor: OwnedDescriptor, credentials: PeerCredentials, service: VarlinkService) throws(SystemdError) {
        self.service = service
        self.credentials = credentials
        transport = Transport(descriptor)
        // The service holds the connection until it is closed, and so does the transport's last call.
        try transport.open { [unowned self] in ready($0) }
        transport.interest = .input
    }

    /// Ends the connection.
    ///
    /// The call that is being answered is cancelled, its stream is closed.
    func close() {
        guard transport.isOpen else { return }
        transport.close()
        abandonCall()
        // It holds the connection.
        spareCall = nil
        service.remove(self)
    }

    /// The service ends: what has been answered and what the stream has to say is still sent, then the connection is closed.
    func drain() {
        if let stream {
            stream.pump()
            // A slow reader's stream goes on from where its output is sent.
            if !stream.isHungry { abandonCall() }
        } else {
            abandonCall()
        }
        updateInterest()
    }

    // MARK: What a call reports

    /// The call is answered by a stream.
    func open(_ stream: VarlinkStream) {
        self.stream = stream
    }

    /// The call has been answered to its end.
    func callEnded() {
        let stream = stream
        isBusy = false
        waitingCall = nil
        self.stream = nil
        stream?.close()
        // Where the handler answers at once, the loop over the messages goes on behind it. Else it begins again when whoever
        // answered is done with what it does.
        guard !isHandling else { return }
        EventLoop.atEndOfTurn {
            self.handleMessages()
            self.updateInterest()
        }
    }

    /// Nobody can answer the call any more.
    func callWasForgotten(_ method: String, isOneway: Bool) {
        guard isBusy, waitingCall == nil else { return }
        if isOneway { return callEnded() }
        // A service that ends cancels what is performed, which then has nothing to say.
        if !service.isStopping { service.logger.error("a call was never answered", metadata: ["method": "\(method)"]) }
        close()
    }

    /// Whether a reply can still reach the client.
    var mayReply: Bool { transport.isOpen && !hasDeparted }

    // MARK: Reading

    private func ready(_ events: IOSource.Events) {
        if events.contains(.hangUp) || events.contains(.error) { depart() }
        if events.contains(.readable), mayRead { read() }
        handleMessages()
        if let stream, stream.isHungry { service.isStopping ? drain() : stream.pump() }
        updateInterest()
    }

    private func read() {
        switch transport.read() {
        case .open: break
        case .ended: inputEnded = true
        case .descriptors: refuse("descriptors came along")
        }
    }

    private func depart() {
        guard !hasDeparted else { return }
        hasDeparted = true
        transport.dropOutput()
        // Nobody waits for a oneway call, so nobody's leaving ends it.
        if isBusy, waitingCall?.isOneway != true { abandonCall() }
    }

    private func abandonCall() {
        let call = waitingCall
        let stream = stream
        isBusy = false
        waitingCall = nil
        self.stream = nil
        stream?.close()
        call?.abandon()
    }

    private var mayHandle: Bool {
        transport.isOpen && !isBusy && !service.isStopping
            && transport.output.count < service.limits.maximumUnsentBytes
    }

    private var mayRead: Bool { mayHandle && !inputEnded }

    /// Says what the loop is to watch the socket for, or closes it when there is nothing left to do.
    func updateInterest() {
        guard transport.isOpen else { return }
        if inputEnded || service.isStopping, !isBusy, transport.output.count == 0 { return close() }
        var interest: Transport.Interest = mayRead ? .input : hasDeparted ? [] : .hangUp
        if let stream, stream.isHungry { interest.insert(.room) }
        transport.interest = interest
    }

    // MARK: Handling

    /// Handles whole messages as long as each is answered at once.
    private func handleMessages() {
        guard !isHandling else { return }
        isHandling = true
        defer { isHandling = false }
        let limit = service.limits.maximumMessageBytes
        while mayHandle, let message = transport.input.takeMessage() {
            guard message.count <= limit else { return refuse("longer than \(limit) bytes") }
            handle(message)
        }
        if mayHandle, transport.input.count > limit { refuse("longer than \(limit) bytes") }
    }

    private func handle(_ message: UnsafeRawBufferPointer) {
        if let received = expected?.call(in: message) { return handle(received, in: message) }
        let envelope: CallEnvelope
        do throws(JSONError) { envelope = try CallEnvelope(message) } catch { return refuse("\(error)") }
        let received = ReceivedCall(envelope: envelope, route: service.route(envelope.method, in: message))
        expected = ExpectedEnvelope(received, in: message)
        handle(received, in: message)
    }

    private func handle(_ received: consuming ReceivedCall, in message: UnsafeRawBufferPointer) {
        var call = nextCall(received, in: message)
        isBusy = true
        service.handle(call)
        call.handlerReturned()
        if call.isUnverified, (try? CallEnvelope(message)) == nil { refuse("not a call") }
        guard transport.isOpen else { return call.abandon() }
        guard isBusy else {
            if call.isEnded, isKnownUniquelyReferenced(&call) { spareCall = call }
            return
        }
        waitingCall = call
        if hasDeparted, !call.isOneway { abandonCall() }
    }

    private func nextCall(_ received: consuming ReceivedCall, in message: UnsafeRawBufferPointer) -> VarlinkCall {
        guard let call = spareCall.take() else { return VarlinkCall(received, in: message, connection: self) }
        call.become(received, in: message)
        return call
    }

    /// Closes the connection of a client that does not speak Varlink.
    private func refuse(_ reason: String) {
        service.logger.debug(
            "closing a connection: what came is not a call",
            metadata: ["reason": "\(reason)", "process-id": "\(credentials.processID)"])
        // The calls before it have been answered.
        transport.flush()
        close()
    }
}
