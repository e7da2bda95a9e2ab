// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Logging

/// One client's connection: messages in, calls one after another, replies out.
///
/// What a client has sent is handled even if it leaves at once, since a oneway call is sent in just that way, unless it only reads. And what it would
/// wait for is cancelled the moment it leaves.
@EventLoop
final class ServerConnection {
    private(set) var credentials: PeerCredentials
    /// The user for whom it counts (``VarlinkService/account``).
    let account: UInt32
    /// Whether the kernel was asked for the client's groups, which only few calls depend on.
    private var hasGroups = false
    /// Whether the client is a part of this process.
    let isInternal: Bool
    /// Whether its calls wait in no queue.
    private let isPreferred: Bool
    let transport: Transport
    /// The service, which holds its connections until they are closed.
    let service: VarlinkService
    /// The stream of the call that is being answered.
    private(set) var stream: VarlinkStream?

    /// Decides what is done next.
    private var machine: ConnectionStateMachine
    /// What the next call probably looks like.
    private var expected: ExpectedEnvelope?
    /// A call that was answered at once and that its handler let go of, to be used again for the next one.
    private var spareCall: VarlinkCall?
    /// The answer that is being written piece by piece.
    private var pieces: MessageInPieces?
    /// Takes over the socket when the answer that upgrades the connection has been sent.
    private var onUpgrade: (@EventLoop (UpgradedConnection) -> Void)?
    /// The call that is being answered, once its handler has returned.
    ///
    /// Not held, so that one that everybody has forgotten is noticed.
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
        // Root could do worse.
        let isTrusted = isPreferred || service.passesDescriptors
        transport = isTrusted ? Transport(descriptor) : Transport(descriptor, user: account)
        if service.passesDescriptors { _ = transport.allowDescriptors() }
        // The service holds the connection until it is closed, and so does the transport's last call.
        try transport.open { [unowned self] in ready($0) }
        transport.interest = .input
    }

    /// The client, with its supplementary groups; only few calls need those, so they are looked up when one does.
    var caller: PeerCredentials {
        if !hasGroups {
            hasGroups = true
            credentials.groups = transport.peerGroups
        }
        return credentials
    }

    /// Ends the connection.
    ///
    /// The call that is being answered is cancelled, its stream is closed.
    func close() {
        guard let effects = machine.close() else { return }
        transport.close()
        perform(effects)
        // They hold the connection, or what does.
        spareCall = nil
        onUpgrade = nil
        service.remove(self)
    }

    /// Gives the socket, and what was read of the other protocol, to whoever speaks that.
    private func handOver() {
        guard let onUpgrade, let descriptor = transport.release() else { return }
        let upgraded = UpgradedConnection(descriptor, bytes: transport.input.takeRest(), process: nil)
        close()
        onUpgrade(upgraded)
    }

    /// The service ends, and takes no more calls.
    func stopReading() { machine.stopReading() }

    /// The service has ended: what has been answered and what the stream has to say is still sent, then the connection is closed.
    func drain() {
        perform(machine.drain())
        settle()
    }

    /// Goes on with a stream whose turn has come.
    func goOn(with stream: VarlinkStream) {
        stream.pump()
        // A slow reader's stream goes on from where its output is sent.
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

    private func closeStream() {
        let stream = stream
        self.stream = nil
        stream?.close()
    }

    private func resume() {
        machine.resume()
        handleMessages()
        settle()
    }

    /// Says what the loop watches the socket for, or closes it when there is nothing left to do.
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

    /// The call is answered by a stream.
    func open(_ stream: VarlinkStream) {
        machine.streamBegan()
        self.stream = stream
    }

    /// The call is answered by a message in pieces.
    func write(_ message: MessageInPieces) {
        guard mayReply else { return callEnded() }
        machine.writingBegan()
        pieces = message
        EventLoop.atEndOfTurn {
            self.writePieces()
            self.settle()
        }
    }

    /// Goes on with the answer in pieces, as far as the client takes it, and the shares of the turn last that the connection and its user have.
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
                // Not in this turn: a client could have one long answer after another, and all others would wait.
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

    /// The call has been answered to its end.
    func callEnded() {
        waitingCall = nil
        closeStream()
        perform(machine.callEnded())
    }

    /// The call has been answered with an upgrade to another protocol.
    func upgrade(_ onUpgrade: @escaping @EventLoop (UpgradedConnection) -> Void) {
        waitingCall = nil
        self.onUpgrade = onUpgrade
        machine.upgradeBegan()
        // Not in this turn: the handler has not returned.
        EventLoop.atEndOfTurn { self.settle() }
    }

    /// Nobody can answer the call any more.
    func callWasForgotten(_ method: String, isOneway: Bool) {
        guard machine.isAnswering, pieces == nil, waitingCall == nil else { return }
        if isOneway { return callEnded() }
        // A service that ends cancels what is performed, which then has nothing to say.
        if !service.isStopping { service.logger.error("a call was never answered", metadata: ["method": "\(method)"]) }
        callWasDropped()
    }

    /// The call will not be answered: ends the connection, but if the service ends, the client can still read the earlier answers.
    func callWasDropped() {
        perform(machine.callWasDropped())
        settle()
    }

    // MARK: Reading

    private func ready(_ events: IOSource.Events) {
        if events.contains(.hangUp) || events.contains(.error) { perform(machine.clientDeparted()) }
        if events.contains(.readable) { machine.bytesCame(unsent: transport.unsentCount) }
        writePieces()
        // After output was sent there may be room for more answers, but this turn has had its share of them.
        if events.isEmpty { handleMessagesNextTurn() } else { handleMessages() }
        if let stream, isStreamHungry { stream.enqueue() }
        if let stream, !stream.isBeingSent { service.streams.endAwaiting(of: stream) }
        settle()
    }

    /// Reads what there is; returns false if nothing is known to be there.
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

    /// Reads what there is, and handles whole messages as long as each is answered at once, and the shares of the turn last that the connection and its user have.
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
        // What has come may take longer than was expected of this turn.
        if readIfReadable(), hasWaited, isCostly { return handleMessagesNextTurn() }
        while mayHandle, let message = transport.input.takeMessage() {
            guard message.count <= limit else { return refuseLongMessage(limit) }
            if let passing = transport.passing { handle(message, passing) } else { handle(message) }
            if share.isUsedUp || machine.isQueued { return continueNextTurn() }
        }
        if mayHandle, transport.input.count > limit { refuseLongMessage(limit) }
    }

    /// Whether the user has had its share of the turn.
    private func mustWait(_ hasWaited: Bool) -> Bool {
        !isPreferred && !hasWaited && service.turns.mustWait(account)
    }

    /// Leaves something to one of the next turns, when the turn of the user has come.
    private func atNextTurn(estimate: UInt64, _ work: @escaping @EventLoop () -> Void) {
        isPreferred
            ? EventLoop.atNextTurn(work)
            : service.turns.append(of: account, estimate: estimate, work)
    }

    /// How long one part of an answer in pieces takes, in nanoseconds: some 64 KiB.
    private static let estimateOfPiece: UInt64 = 200_000

    /// How long what was read takes at most, in nanoseconds: as long as objects with very many members.
    private var estimateOfInput: UInt64 { UInt64(transport.input.count) * 8 }

    /// Whether what was read may take long enough to let others go first.
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

    /// Leaves what the client has called beside this until streams have caught up.
    func holdUp() {
        guard FlowControl.isHeld, machine.queue() else { return }
        FlowControl.whenReleased { self.goOnNextTurn() }
    }

    private func handle(_ message: UnsafeRawBufferPointer, _ passing: DescriptorPassing) {
        passing.beginMessage(length: message.count + 1, unread: transport.input.count)
        handle(message)
        passing.endMessage()
    }

    private func handle(_ message: UnsafeRawBufferPointer) {
        if let received = expected?.call(in: message) { return handle(received, in: message) }
        var envelope: CallEnvelope
        do throws(JSONError) { envelope = try CallEnvelope(message) } catch { return refuse("\(error)") }
        let route = service.route(envelope.method, in: message)
        // The name may be as long as the message, and the envelope outlives it.
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

    /// Refuses what a client sends whose message is longer than it may be; what it called is not known.
    private func refuseLongMessage(_ limit: Int) {
        if let error = service.refusal("message", limit) { transport.write { error.writeMembers(to: &$0) } }
        refuse("longer than \(limit) bytes")
    }

    /// Ends the connection of a client that does not speak Varlink, once it has read what was answered before.
    private func refuse(_ reason: String) {
        service.logger.debug(
            "closing a connection: invalid message",
            metadata: ["reason": "\(reason)", "process-id": "\(credentials.processID)"])
        machine.refuseInput()
        transport.flush()
        settle()
    }
}
