// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Logging

/// A client's connection: it reads calls, lets the service handle one at a time, and sends the replies.
///
/// Calls that were read are handled even if the client has left, because a client may send oneway calls and leave at
/// once. Calls that only read are then skipped, and a call that is still being answered is cancelled.
@EventLoop
final class ServerConnection {
    private(set) var credentials: PeerCredentials
    /// Whether `credentials` has the client's groups.
    private var hasGroups = false
    /// Whether the client is part of this process.
    let isInternal: Bool
    let transport: Transport
    /// The service, which keeps its connections until they are closed.
    let service: VarlinkService
    /// The stream that answers the current call.
    private(set) var stream: VarlinkStream?

    private var machine: ConnectionStateMachine
    /// The last oneway call.
    private var lastOneway: RepeatedCall?
    /// The reply that is being written in pieces.
    private var pieces: MessageInPieces?
    /// The current call, after its handler has returned.
    ///
    /// Weak, because the connection must notice that a call was released without an answer.
    private weak var waitingCall: VarlinkCall?

    init(
        _ descriptor: OwnedDescriptor, credentials: PeerCredentials, isInternal: Bool, service: VarlinkService
    ) throws(IOError) {
        self.service = service
        self.isInternal = isInternal
        machine = ConnectionStateMachine(maximumUnsent: service.limits.maximumUnsentBytes)
        self.credentials = credentials
        transport = Transport(descriptor)
        // `unowned` is safe: the service keeps the connection until it is closed. After that, the transport makes no
        // calls.
        try transport.open { [unowned self] in ready($0) }
        transport.interest = .readable
    }

    /// The client with its supplementary groups.
    ///
    /// They are looked up on first use, because few calls need them.
    var caller: PeerCredentials {
        if !hasGroups {
            hasGroups = true
            credentials.groups = transport.peerGroups
        }
        return credentials
    }

    /// Closes the connection.
    ///
    /// The current call is cancelled and its stream closed.
    func close() {
        guard let effects = machine.close() else { return }
        lastOneway = nil
        transport.close()
        perform(effects)
        service.remove(self)
    }

    /// Takes no more calls, because the service is ending.
    func stopReading() { machine.stopReading() }

    /// Sends pending replies and the rest of the stream, then closes the connection.
    func drain() {
        perform(machine.drain())
        settle()
    }

    /// The stream has written; if `hasMore`, it continues later.
    func streamWrote(hasMore: Bool) {
        perform(machine.streamPaused(isHungry: hasMore))
        settle()
    }

    private func perform(_ effects: ConnectionStateMachine.Effects) {
        if effects.contains(.dropOutput) { transport.dropOutput() }
        if effects.contains(.abandonCall) { abandonCall() }
        if effects.contains(.wakeStream) { stream?.enqueue() }
        if effects.contains(.resume) { EventLoop.atEndOfTurn { self.resume() } }
        if effects.contains(.close) { close() }
    }

    private func abandonCall() {
        let call = waitingCall
        waitingCall = nil
        pieces = nil
        stream.take()?.close()
        call?.abandon()
    }

    private func resume() {
        machine.resume()
        handleMessages()
        settle()
    }

    /// Tells the loop which events to wait for, or closes the connection if nothing is left to do.
    func settle() {
        var interest: IOSource.Events
        switch machine.settle(unsent: transport.unsentCount) {
        case .input: interest = .readable
        case .departure: interest = .hangUp
        case .nothing: interest = []
        case .end: return close()
        }
        if machine.isWriting || stream?.isFull == true { interest.insert(.writable) }
        transport.interest = interest
    }

    // MARK: What a call reports

    /// Whether a reply can still reach the client.
    var mayReply: Bool { machine.mayReply }

    /// Lets a stream answer the current call.
    func open(_ stream: VarlinkStream) {
        machine.streamBegan()
        self.stream = stream
    }

    /// Answers the current call with a reply in pieces.
    func write(_ message: MessageInPieces) {
        guard mayReply else { return callEnded() }
        machine.writingBegan()
        pieces = message
        EventLoop.atEndOfTurn {
            self.writePieces()
            self.settle()
        }
    }

    /// Writes more pieces, while the client takes them and the connection has time in this turn.
    private func writePieces() {
        guard machine.isWriting else { return }
        let share = TurnShare()
        while machine.isWriting, var message = pieces.take() {
            let hasMore = transport.write(&message, upTo: service.limits.maximumUnsentBytes, within: share)
            if hasMore { pieces = message }
            transport.flush()
            if !hasMore {
                machine.writingEnded()
                waitingCall = nil
                // The next call waits for the next turn. Otherwise a client with one long reply after another would
                // delay all other clients.
                return handleMessagesNextTurn()
            }
            // If there is room, the loop reports it in the next turn.
            if transport.unsentCount > 0 || share.isUsedUp { return }
        }
    }

    /// The current call has been answered.
    func callEnded() {
        waitingCall = nil
        stream.take()?.close()
        perform(machine.callEnded())
    }

    /// The current call was released, so it cannot be answered.
    func callWasForgotten(_ method: String, isOneway: Bool) {
        guard machine.isAnswering, pieces == nil, waitingCall == nil else { return }
        if isOneway { return callEnded() }
        // A service that ends cancels its tasks, which then leave calls unanswered.
        if !service.isStopping { service.logger.error("a call was never answered", metadata: ["method": "\(method)"]) }
        callWasDropped()
    }

    /// The current call has failed with an error that cannot be sent.
    func callFailed(_ method: String, _ error: any Error) {
        // A service that ends cancels its tasks, which then fail.
        if !service.isStopping {
            service.failures.log(
                "cannot answer a call: \(error)", about: method, level: .error, metadata: ["method": "\(method)"])
        }
        callWasDropped()
    }

    /// The current call will not be answered: closes the connection.
    ///
    /// If the service is ending, earlier replies are sent first.
    func callWasDropped() {
        perform(machine.callWasDropped())
        settle()
    }

    // MARK: Reading

    private func ready(_ events: IOSource.Events) {
        if events.contains(.hangUp) || events.contains(.error) { perform(machine.clientDeparted()) }
        if events.contains(.readable) { machine.bytesCame(unsent: transport.unsentCount) }
        writePieces()
        // There may be room for more replies, but this connection's share of the turn is used up.
        if events.isEmpty { handleMessagesNextTurn() } else { handleMessages() }
        stream?.roomCame()
        settle()
    }

    private func readIfReadable() {
        guard machine.beginReading(unsent: transport.unsentCount) else { return }
        switch transport.read() {
        case .open: break
        case .ended: machine.inputEnded()
        case .descriptors:
            refuse("the message came with descriptors")
            close()
        }
    }

    private var mayHandle: Bool { machine.mayHandle(unsent: transport.unsentCount) }

    // MARK: Handling

    /// Reads once, and handles whole messages.
    ///
    /// Stops at a call that is not answered at once, or when the connection has used up its share of the turn.
    private func handleMessages(hasWaited: Bool = false) {
        guard machine.mayBeginHandling else { return }
        machine.beginHandling()
        defer { machine.endHandling() }
        let limit = service.limits.maximumMessageBytes
        let share = TurnShare()
        // The rest of the input comes first, so that a client that sends faster than it is served waits in its socket.
        if !transport.input.hasMessage() { readIfReadable() }
        // Long input waits for a turn, so that many clients with costly calls do not delay others.
        if !hasWaited, transport.input.count > Self.longestShort { return handleMessagesNextTurn() }
        while mayHandle, let message = transport.input.takeMessage() {
            guard message.count <= limit else { return refuseLongMessage(limit) }
            handle(message)
            if share.isUsedUp { return handleMessagesNextTurn() }
        }
        if mayHandle, transport.input.count > limit { refuseLongMessage(limit) }
    }

    /// Longer input, in bytes, may take so long that it waits for a turn.
    private static let longestShort = 4096

    private func handleMessagesNextTurn() {
        guard mayHandle else { return }
        let limit = service.limits.maximumMessageBytes
        if machine.isReadable || transport.input.hasMessage() {
            guard machine.queue() else { return }
            EventLoop.atNextTurn {
                self.machine.turnCame()
                self.handleMessages(hasWaited: true)
                self.settle()
            }
        } else if transport.input.count > limit {
            refuseLongMessage(limit)
        }
    }

    private func handle(_ message: UnsafeRawBufferPointer) {
        if let call = lastOneway?.call(of: message) {
            handle(call)
            // A call that is kept here is never noticed as forgotten.
            if !call.isOver || call.hasBrokenParameters { lastOneway = nil }
            // If the parameters are broken, more than an object is between the same bytes.
            if !call.hasBrokenParameters || machine.isClosed { return }
        }
        let envelope: CallEnvelope
        do throws(JSONError) { envelope = try CallEnvelope(message) } catch { return refuse("\(error)") }
        let route = service.route(envelope.method, in: message)
        // Nobody needs the result of a call that only reads if no client receives it.
        if route.onlyReads, envelope.isOneway || !mayReply { return }
        let call = VarlinkCall(envelope, route: route, in: message, connection: self)
        handle(call)
        if call.isOver, !machine.isClosed, let call = RepeatedCall(call, in: message) { lastOneway = call }
    }

    private func handle(_ call: VarlinkCall) {
        machine.callBegan()
        if let interface = call.route.interface, !call.wantsUpgrade {
            interface.handle(call)
        } else {
            service.refuse(call)
        }
        call.handlerReturned()
        if machine.isClosed {
            call.abandon()
        } else if machine.isAnswering {
            waitingCall = call
            perform(machine.handlerReturned())
        }
    }

    /// Refuses a message that is too long, whose method is unknown.
    private func refuseLongMessage(_ limit: Int) {
        if let error = service.refusal("message", limit) { transport.write { error.writeMembers(to: &$0) } }
        refuse("longer than \(limit) bytes")
    }

    /// Closes the connection of a client that does not speak Varlink.
    ///
    /// It can still read earlier replies.
    private func refuse(_ reason: String) {
        service.logger.debug(
            "closing a connection: invalid message",
            metadata: ["reason": "\(reason)", "process-id": "\(credentials.processID)"])
        machine.refuseInput()
        transport.flush()
        settle()
    }
}
