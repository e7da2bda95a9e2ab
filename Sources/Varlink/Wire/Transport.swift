// SPDX-License-Identifier: Apache-2.0

import Glibc
package import Systemd

/// A connected socket on the loop: what was read and not taken yet, and what is written and not sent yet.
@EventLoop
package final class Transport {
    /// What reading found.
    package enum ReadResult {
        /// Bytes, or nothing for now.
        case open
        /// The peer will send no more.
        case ended
        /// The peer sent descriptors, which have no meaning here.
        case descriptors
    }

    /// What was read and not taken yet.
    package var input = MessageInput()
    /// What is to be sent, and was not yet.
    private(set) var output = ByteOutput()

    /// Until it is closed.
    private var descriptor: OwnedDescriptor?
    /// Who is at the other end, if that may be anybody.
    private let peer: ForeignPeer?
    private var source: IOSource?
    private var onReady: (@EventLoop (IOSource.Events) -> Void)?
    private var isFlushScheduled = false
    private var isWriting = false
    /// Whether the peer takes nothing any more; what is written is dropped from then on.
    private var isDeaf = false
    private var hasHungUp = false

    /// Memory for output beyond this is given back once all is sent.
    private static let keptCapacity = 16 * 1024

    /// What the loop watches the socket for, beside room for the output.
    package struct Interest: OptionSet {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// There is something to read, or the peer has gone.
        package static let input = Interest(rawValue: 1)
        /// The peer has gone.
        package static let hangUp = Interest(rawValue: 2)
        /// There is room to write, though there is nothing to be sent yet.
        package static let room = Interest(rawValue: 4)
    }

    /// What `onReady` is called for.
    package var interest: Interest = [] {
        didSet { if interest != oldValue { watch() } }
    }

    /// Whether it has not been closed from this side.
    var isOpen: Bool { source != nil }

    /// Takes over a connected, non-blocking socket.
    package init(_ descriptor: OwnedDescriptor, peer: ForeignPeer? = nil) {
        self.descriptor = descriptor
        self.peer = peer
    }

    /// Begins to watch the socket.
    ///
    /// `onReady` is called for what is of interest, for a peer that has gone or takes no more (`hangUp`), and, with
    /// no events, after output was sent.
    package func open(_ onReady: @escaping @EventLoop (IOSource.Events) -> Void) throws(SystemdError) {
        self.onReady = onReady
        guard let descriptor else { return }
        source = try IOSource(descriptor: descriptor.rawValue, events: []) { [unowned self] in ready($0) }
        watch()
    }

    /// Stops everything; what was not sent is dropped.
    ///
    /// To be called before the transport is let go. Whoever still holds it, because something of it waits for its turn, holds no descriptor.
    package func close() {
        guard let source else { return }
        source.cancel()
        self.source = nil
        onReady = nil
        output.removeFirst(output.count, keeping: 0)
        if let peer, !peer.isKnownCheap {
            descriptor?.closeElsewhere()
        } else if let descriptor {
            shutdown(descriptor.rawValue, Int32(SHUT_RDWR))
        }
        descriptor = nil
    }

    /// The supplementary groups of the peer.
    var peerGroups: [UInt32] { descriptor.map { UnixSocket.peerGroups(of: $0.rawValue) } ?? [] }

    /// Reads once what is there, as much as there is room for.
    package func read() -> ReadResult {
        guard let descriptor else { return .ended }
        if peer?.isBehind == true { return .open }
        let room = input.room()
        while true {
            let count = peer?.read(descriptor, into: room) ?? descriptor.receive(into: room)
            if count > 0 {
                input.add(count)
                return .open
            }
            if count == 0 { return .ended }
            if errno == EAGAIN { return .open }
            if errno == EPROTO { return .descriptors }
            // ECONNRESET and the like: nothing more will come.
            if errno != EINTR { return .ended }
        }
    }

    /// Whether all that is still in the socket has been looked at, so nothing more comes from a peer that has gone.
    var hasSeenAll: Bool { descriptor.map { peer?.hasSeenAll(of: $0) ?? false } ?? false }

    /// Receives what has only been looked at yet, unless an answer to it is to come that will tell what that costs.
    func catchUp(isWaiting: Bool) {
        guard let peer, peer.isBehind, let descriptor else { return }
        peer.catchUp(descriptor, isWaiting: isWaiting || output.count > 0) { [weak self] in self?.watch() }
        watch()
    }

    /// Appends one message, a JSON object whose members `body` writes, and the NUL that ends it.
    ///
    /// It is sent at the end of the loop's turn, with all others of that turn.
    func write(_ body: (inout JSONWriter) -> Void) {
        let isWritten = withWriter { writer in
            writer.message { writer in
                body(&writer)
                return true
            }
        }
        if isWritten == true { scheduleFlush() }
    }

    /// Appends bytes that are whole messages, each with its NUL; they are sent at the end of the loop's turn.
    package func write(_ messages: [UInt8]) {
        guard isOpen, !isDeaf else { return }
        messages.withUnsafeBufferPointer { output.append($0) }
        scheduleFlush()
    }

    /// Appends messages, whose members `body` writes, until it returns false, by which it says that it wrote nothing, or `limit` bytes wait.
    ///
    /// Returns whether there may be more. To ``flush()`` them is the caller's business.
    func writeMessages(upTo limit: Int, _ body: (inout JSONWriter) -> Bool) -> Bool {
        withWriter { writer in
            while writer.output.count < limit {
                guard writer.message(body) else { return false }
            }
            return true
        } ?? false
    }

    /// Appends pieces of a message until it is complete, `limit` bytes wait, or the share of the turn is used up; returns whether there is more.
    ///
    /// To ``flush()`` them is the caller's business.
    func write(_ message: inout MessageInPieces, upTo limit: Int, within share: TurnShare) -> Bool {
        withWriter { writer in
            repeat {
                guard message.write(to: &writer) else { return false }
            } while writer.output.count < limit && !share.isUsedUp
            return true
        } ?? false
    }

    /// Has `body` write behind the output; nil where the peer takes nothing any more.
    private func withWriter(_ body: (inout JSONWriter) -> Bool) -> Bool? {
        guard isOpen, !isDeaf else { return nil }
        precondition(!isWriting, "a message is written while another one is being written")
        isWriting = true
        defer { isWriting = false }
        var taken = ByteOutput()
        swap(&output, &taken)
        var writer = JSONWriter(taken)
        let result = body(&writer)
        output = writer.takeOutput()
        return result
    }

    /// Sends as much as the socket takes now.
    func flush() {
        guard isOpen, let descriptor else { return }
        while output.count > 0 {
            guard let count = send(output.bytes, to: descriptor) else { return dropOutput() }
            if count >= 0 {
                output.removeFirst(count, keeping: Self.keptCapacity)
            } else if errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM {
                break
            } else if errno != EINTR {
                // The peer has gone, or has shut down its reading side. The loop would call the socket writable for ever.
                dropOutput()
                EventLoop.atEndOfTurn { self.onReady?(.hangUp) }
            }
        }
        watch()
    }

    /// Sends bytes: what send(2) returns; nil if the peer is to get nothing any more.
    private func send(_ bytes: UnsafeBufferPointer<UInt8>, to descriptor: OwnedDescriptor) -> Int? {
        let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
        func sendBytes() -> Int { Glibc.send(descriptor.rawValue, bytes.baseAddress, bytes.count, flags) }
        return if let peer { peer.measure(sendBytes) } else { sendBytes() }
    }

    /// Drops what was not sent, and all that will be written: the peer reads no more.
    func dropOutput() {
        isDeaf = true
        output.removeFirst(output.count, keeping: 0)
        watch()
    }

    private func scheduleFlush() {
        guard !isFlushScheduled else { return }
        isFlushScheduled = true
        EventLoop.atEndOfTurn { self.flushScheduled() }
    }

    private func flushScheduled() {
        isFlushScheduled = false
        guard isOpen else { return }
        flush()
        onReady?([])
    }

    private func ready(_ events: IOSource.Events) {
        if events.contains(.hangUp) { hasHungUp = true }
        if events.contains(.writable) { flush() }
        onReady?(events)
    }

    private func watch() {
        guard let source else { return }
        var events: IOSource.Events = []
        if interest.contains(.input) {
            // While nothing can be read, that the peer has gone is reported once.
            if peer?.isBehind != true { events.insert(.readable) } else if !hasHungUp { events.insert(.hangUp) }
        }
        if interest.contains(.hangUp) { events.insert(.hangUp) }
        if interest.contains(.room) || output.count > 0 { events.insert(.writable) }
        source.events = events
    }
}

extension JSONWriter {
    /// Writes one message and the NUL that ends it; nothing where `body` returns false.
    @inline(__always)
    fileprivate mutating func message(_ body: (inout JSONWriter) -> Bool) -> Bool {
        let start = output.count
        needsComma = false
        var isWritten = false
        object { isWritten = body(&$0) }
        if isWritten { output.append(0) } else { output.truncate(to: start) }
        return isWritten
    }
}
