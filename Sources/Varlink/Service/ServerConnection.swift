// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Logging

/// A client's connection: it reads calls, has them handled in turn, and sends the replies.
///
/// Calls that were read are handled even if the client has left, because a client may send oneway calls and leave at
/// once. Calls that only read are then skipped, and a call that is still being answered is cancelled.
@EventLoop
final class ServerConnection {
    private(set) var credentials: PeerCredentials
    /// The user whose limits and share of a turn apply (``VarlinkService/account``).
    let account: UInt32
    /// Whether `credentials` has the client's groups.
    private var hasGroups = false
    /// Whether the client is part of this process.
    let isInternal: Bool
    /// Whether its calls skip the queue.
    private let isPreferred: Bool
    let transport: Transport
    /// The service, which keeps its connections until they are closed.
    let service: VarlinkService
    /// The stream that answers the current call.
    private(set) var stream: VarlinkStream?

    private var machine: ConnectionStateMachine
    /// What the next call is expected to look like.
    private var expected: ExpectedEnvelope?
    /// A call that nobody uses any more; the next call reuses it.
    private var spareCall: VarlinkCall?
    /// The reply that is being written in pieces.
    private var pieces: MessageInPieces?
    /// Takes over the socket once the reply that upgrades the connection was sent.
    private var onUpgrade: (@EventLoop (UpgradedConnection) -> Void)?
    /// The current call, after its handler has returned.
    ///
    /// The reference is weak: a call that nobody holds can never be answered, which must be noticed.
    private weak var waitingCall: VarlinkCall?

    init(
        _ descriptor: OwnedDescriptor, credentials: PeerCredentials, account: UInt32, isInternal: Bool,
        service: VarlinkService
    ) throws(IOError) {
        self.service = service
        self.account = account
        self.isInternal = isInternal
        machine = ConnectionStateMachine(maximumUnsent: service.limits.maximumUnsentBytes)
        isPreferred = isInternal || service.limits.preferredUsers.contains(credentials.userID)
        self.credentials = credentials
        // Clients of these users are trusted not to slow down the loop.
        let isTrusted = isPreferred || service.passesDescriptors
        transport = isTrusted ? Transport(descriptor) : Transport(descriptor, user: account)
        if service.passesDescriptors { _ = transport.allowDescriptors() }
        // `unowned` is safe: the service keeps the connection until it is closed, after which the transport makes no
        // calls.
        try transport.open { [unowned self] in ready($0) }
        transport.interest = .input
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
        transport.close()
        perform(effects)
        // These would keep the connection alive.
        spareCall = nil
        onUpgrade = nil
        service.remove(self)
    }

    /// Gives the handler of an upgrade the socket, and the bytes that were read of the other protocol.
    private func handOver() {
        guard let onUpgrade, let descriptor = transport.release() else { return }
        let upgraded = UpgradedConnection(descriptor, bytes: transport.input.takeRest(), process: nil)
        close()
        onUpgrade(upgraded)
    }

    /// Takes no more calls, because the service is ending.
    func stopReading() { machine.stopReading() }

    /// Sends what was answered and what the stream still has to write, then closes the connection.
    func drain() {
        perform(machine.drain())
        settle()
    }

    /// Has a stream write, whose turn has come.
    func goOn(with stream: VarlinkStream) {
        stream.pump()
        // If the client reads slowly, the stream goes on when its output has been sent.
        perform(machine.streamPaused(isHungry: stream.isHungry))
        settle()
    }

    private func perform(_ effects: ConnectionStateMachine.Effects) {
        if effects.isEmpty { return }
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
        closeStream()
        call?.abandon()
    }

    private func closeStream() { stream.take()?.close() }

    private func resume() {
        machine.resume()
        handleMessages()
        settle()
    }

    /// Tells the loop which events to wait for, or closes the connection if nothing is left to do.
    func settle() {
        var interest: Transport.Interest
        switch machine.settle(unsent: transport.unsentCount) {
        case .input: interest = .input
        case .departure: interest = .hangUp
        case .nothing: interest = []
        case .end: return close()
        case .upgrade: return handOver()
        }
        if machine.mayWrite || isStreamHungry { interest.insert(.room) }
        transport.interest = interest
    }

    private var isStreamHungry: Bool { if let stream { stream.isHungry && !stream.isQueued } else { false } }

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

    /// Writes more pieces, while the client takes them and the connection and its user have time in this turn.
    private func writePieces(hasWaited: Bool = false) {
        guard machine.mayWrite else { return }
        if mustWait(hasWaited) { return writeNextTurn() }
        let share = TurnShare()
        defer { service.turns.note(share.nanosecondsTaken, by: account) }
        while var message = pieces.take() {
            let hasMore = transport.write(&message, upTo: service.limits.maximumUnsentBytes, within: share)
            if hasMore { pieces = message }
            transport.flush()
            if !hasMore {
                machine.writingEnded()
                waitingCall = nil
                // The next call waits for the next turn. Otherwise a client with one long reply after another would
                // hold up all others.
                return continueNextTurn()
            }
            if transport.unsentCount > 0 { return }
            if share.isUsedUp { return writeNextTurn() }
        }
    }

    private func writeNextTurn() {
        machine.queueWriting()
        atNextTurn(estimate: Self.estimateOfPiece) {
            self.machine.writingTurnCame()
            self.writePieces(hasWaited: true)
            self.settle()
        }
    }

    /// The current call has been answered.
    func callEnded() {
        waitingCall = nil
        closeStream()
        perform(machine.callEnded())
    }

    /// The current call has been answered with an upgrade to another protocol.
    func upgrade(_ onUpgrade: @escaping @EventLoop (UpgradedConnection) -> Void) {
        waitingCall = nil
        self.onUpgrade = onUpgrade
        machine.upgradeBegan()
        // The handler has not returned yet.
        EventLoop.atEndOfTurn { self.settle() }
    }

    /// Nobody holds the current call any more, so it cannot be answered.
    func callWasForgotten(_ method: String, isOneway: Bool) {
        guard machine.isAnswering, pieces == nil, waitingCall == nil else { return }
        if isOneway { return callEnded() }
        // When a service ends it cancels its tasks, which then leave calls unanswered.
        if !service.isStopping { service.logger.error("a call was never answered", metadata: ["method": "\(method)"]) }
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
        // There may be room for more replies now, but this turn has had its share of them.
        if events.isEmpty { handleMessagesNextTurn() } else { handleMessages() }
        if let stream, isStreamHungry { stream.enqueue() }
        if let stream, !stream.isBeingSent { service.streams.endAwaiting(of: stream) }
        settle()
    }

    /// Reads once; returns false if nothing is known to be there.
    private func readIfReadable() -> Bool {
        guard machine.beginReading(unsent: transport.unsentCount) else { return false }
        switch transport.read() {
        case .open: break
        case .ended: machine.inputEnded()
        case .descriptors:
            refuse(
                transport.passing == nil
                    ? "the message came with descriptors" : "too many descriptors, or in the middle of a message")
            close()
        }
        return true
    }

    private var mayHandle: Bool { machine.mayHandle(unsent: transport.unsentCount) }

    // MARK: Handling

    /// Reads once, and handles whole messages.
    ///
    /// Stops at a call that is not answered at once, or when the connection or its user has used up its share of the
    /// turn.
    private func handleMessages(hasWaited: Bool = false) {
        guard machine.mayBeginHandling else { return }
        if mustWait(hasWaited) { return handleMessagesNextTurn() }
        machine.beginHandling()
        let limit = service.limits.maximumMessageBytes
        let share = TurnShare()
        defer {
            machine.endHandling()
            service.turns.note(share.nanosecondsTaken, by: account)
        }
        // The input may take longer than the turn allowed for.
        if readIfReadable(), hasWaited, isCostly { return handleMessagesNextTurn() }
        while mayHandle, let message = transport.input.takeMessage() {
            guard message.count <= limit else { return refuseLongMessage(limit) }
            transport.passing?.beginMessage(length: message.count + 1, unread: transport.input.count)
            handle(message)
            transport.passing?.endMessage()
            if share.isUsedUp || machine.isQueued { return continueNextTurn() }
        }
        if mayHandle, transport.input.count > limit { refuseLongMessage(limit) }
    }

    /// Whether the user has used up its share of the turn.
    private func mustWait(_ hasWaited: Bool) -> Bool {
        !isPreferred && !hasWaited && service.turns.mustWait(account)
    }

    /// Runs `work` in a later turn, when it is the user's turn.
    private func atNextTurn(estimate: UInt64, _ work: @escaping @EventLoop () -> Void) {
        isPreferred
            ? EventLoop.atNextTurn(work)
            : service.turns.append(of: account, estimate: estimate, work)
    }

    /// How long one piece of a reply takes, in nanoseconds: about 64 KiB.
    private static let estimateOfPiece: UInt64 = 200_000

    /// The longest time that the input may take, in nanoseconds: objects with very many members.
    private var estimateOfInput: UInt64 { UInt64(transport.input.count) * 8 }

    /// Whether the input may take so long that others should go first.
    private var isCostly: Bool { estimateOfInput > TurnQueue.longestShort }

    private func handleMessagesNextTurn() {
        guard mayHandle else { return }
        let limit = service.limits.maximumMessageBytes
        if machine.isReadable || transport.input.hasMessage() {
            continueNextTurn()
        } else if transport.input.count > limit {
            refuseLongMessage(limit)
        }
    }

    private func continueNextTurn() {
        if machine.queue() { goOnNextTurn() }
    }

    private func goOnNextTurn() {
        atNextTurn(estimate: estimateOfInput) {
            self.machine.turnCame()
            self.handleMessages(hasWaited: true)
            self.settle()
        }
    }

    /// Holds up the client's next calls until streams have caught up.
    func holdUp() {
        guard FlowControl.isHeld, machine.queue() else { return }
        FlowControl.whenReleased { self.goOnNextTurn() }
    }

    private func handle(_ message: UnsafeRawBufferPointer) {
        if let received = expected?.call(in: message) { return handle(received, in: message) }
        var envelope: CallEnvelope
        do throws(JSONError) { envelope = try CallEnvelope(message) } catch { return refuse("\(error)") }
        let route = service.route(envelope.method, in: message)
        // The envelope outlives the message, and the name may be as long as that.
        envelope.method = nil
        let received = ReceivedCall(envelope: envelope, route: route)
        expected = ExpectedEnvelope(received, in: message)
        handle(received, in: message)
    }

    private func handle(_ received: consuming ReceivedCall, in message: UnsafeRawBufferPointer) {
        if !mayReply, received.route.onlyReads { return }
        var call = nextCall(received, in: message)
        machine.callBegan()
        service.handle(call)
        call.handlerReturned()
        if call.isUnverified, (try? CallEnvelope(message)) == nil { refuse("not a call") }
        if machine.isClosed { return call.abandon() }
        guard machine.isAnswering else {
            if call.isEnded, isKnownUniquelyReferenced(&call) { spareCall = call }
            return
        }
        waitingCall = call
        perform(machine.handlerReturned())
    }

    /// Drops the expected envelope, after a message that did not match it or had invalid parameters.
    func expectationFailed() { expected = nil }

    private func nextCall(_ received: consuming ReceivedCall, in message: UnsafeRawBufferPointer) -> VarlinkCall {
        guard let call = spareCall.take() else { return VarlinkCall(received, in: message, connection: self) }
        call.become(received, in: message)
        return call
    }

    /// Refuses a message that is too long; its method is not known.
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
