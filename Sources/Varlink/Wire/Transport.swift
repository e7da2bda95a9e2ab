// SPDX-License-Identifier: Apache-2.0

import CLinux
package import EventLoopIO
import Glibc

/// A connected socket on the event loop, with the bytes that were read and those still to be sent.
@EventLoop
package final class Transport {
    /// The result of reading.
    package enum ReadResult {
        /// Bytes, or nothing for now.
        case open
        /// The peer sends no more.
        case ended
        /// The peer sent descriptors where none are allowed.
        case descriptors
    }

    /// The bytes that were read and not used yet.
    package var input = MessageInput()
    /// The bytes still to be sent, except those that other threads have.
    private var output = ByteOutput()
    /// How many bytes other threads may still have to send.
    private var unsentElsewhere = 0

    /// Nil once it is closed.
    private var descriptor: OwnedDescriptor?
    /// Makes the system calls, if the peer may belong to any user.
    private var foreign: ForeignSocket?
    /// The descriptors that travel with messages; nil unless that was allowed.
    private(set) var passing: DescriptorPassing?
    private var source: IOSource?
    private var onReady: (@EventLoop (IOSource.Events) -> Void)?
    private var isFlushScheduled = false
    private var isWriting = false
    /// Whether the peer reads no more; then output is dropped.
    private var isDeaf = false

    /// Larger output memory is freed once everything is sent.
    ///
    /// While only input is awaited and other threads have at most this much to send, no notice of its end is requested.
    private static let keptCapacity = 16 * 1024

    /// The events to wait for, apart from room for output.
    package struct Interest: OptionSet {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// There is input, or the peer has gone.
        package static let input = Interest(rawValue: 1)
        /// The peer has gone.
        package static let hangUp = Interest(rawValue: 2)
        /// There is room for output, even if there is none yet.
        ///
        /// If other threads send: everything has been sent.
        package static let room = Interest(rawValue: 4)
    }

    /// The events for which `onReady` is called.
    package var interest: Interest = [] {
        didSet { if interest != oldValue { watch() } }
    }

    /// Whether this side has not closed it.
    var isOpen: Bool { source != nil }

    /// How many bytes wait to be sent, or may still be on their way to the socket.
    var unsentCount: Int { output.count + unsentElsewhere }

    /// Whether other threads are sending, and the peer takes it.
    var isBeingSent: Bool { unsentElsewhere > 0 && foreign?.isFull == false }

    /// Takes over a connected, non-blocking socket.
    package init(_ descriptor: OwnedDescriptor) { self.descriptor = descriptor }

    /// Takes over a connected, non-blocking socket whose peer may belong to any user.
    init(_ descriptor: OwnedDescriptor, user: UInt32) {
        self.descriptor = descriptor
        foreign = ForeignSocket(descriptor, user: user)
    }

    /// Starts to watch the socket.
    ///
    /// `onReady` is called for events in `interest`, when the peer has gone or reads no more (`hangUp`), and, without
    /// events, after output was sent.
    package func open(_ onReady: @escaping @EventLoop (IOSource.Events) -> Void) throws(IOError) {
        self.onReady = onReady
        guard let descriptor else { return }
        source = try IOSource(descriptor, events: [], isEdgeTriggered: foreign != nil) {
            [unowned self] in ready($0)
        }
        foreign?.onNotice = { [unowned self] in noticed($0) }
        watch()
    }

    /// Closes the socket and drops what was not sent.
    ///
    /// Call this before the last reference goes. Work that is still queued may hold the transport longer, but not the
    /// descriptor.
    package func close() {
        guard let source else { return }
        source.cancel()
        self.source = nil
        onReady = nil
        output.removeFirst(output.count, keeping: 0)
        unsentElsewhere = 0
        if foreign == nil, let descriptor { shutdown(descriptor.rawValue, Int32(SHUT_RDWR)) }
        // The other threads close the socket when they drop the last reference.
        descriptor = nil
        passing?.close()
        passing = nil
        foreign?.close()
        foreign = nil
    }

    /// Stops everything like ``close()``, but returns the socket, which stays connected.
    ///
    /// Returns nil if it was closed, or if other threads still work on it. Then `onReady` is called when they have
    /// finished.
    func release() -> OwnedDescriptor? {
        if let foreign, !foreign.release() { return nil }
        foreign = nil
        let released = descriptor
        descriptor = nil
        close()
        return released
    }

    /// Allows descriptors to travel with messages; returns false if this is not a Unix socket.
    ///
    /// The loop itself receives and closes them, so the peer must be trusted not to slow that down.
    func allowDescriptors() -> Bool {
        precondition(foreign == nil, "other threads pass no descriptors")
        var domain: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard let descriptor, getsockopt(descriptor.rawValue, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0,
            domain == AF_UNIX
        else { return false }
        linux_refuse_additions(descriptor.rawValue)
        if passing == nil { passing = DescriptorPassing() }
        return true
    }

    /// The supplementary groups of the peer.
    var peerGroups: [UInt32] { descriptor.map { UnixSocket.peerGroups(of: $0.rawValue) } ?? [] }

    /// Reads once, as much as there is room for.
    package func read() -> ReadResult {
        guard let descriptor else { return .ended }
        let isAtStart = passing != nil && input.endsMessage
        let room = input.room()
        while true {
            let count =
                passing?.receive(into: room, isAtStart: isAtStart, from: descriptor) ?? foreign?.look(into: room)
                ?? descriptor.receive(into: room)
            if count > 0 {
                input.add(count)
                if foreign != nil { scheduleFlush() }
                return .open
            }
            if count == 0 { return .ended }
            if errno == EAGAIN { return .open }
            if errno == EPROTO { return .descriptors }
            // ECONNRESET and the like: there is no more input.
            if errno != EINTR { return .ended }
        }
    }

    /// Appends one message: a JSON object whose members `body` writes, and a NUL.
    ///
    /// It is sent at the end of the loop's turn, together with the other messages of that turn.
    func write(_ body: (inout JSONWriter) -> Void) {
        let isWritten = withWriter { writer in
            writer.message { writer in
                body(&writer)
                return true
            }
        }
        if isWritten == true { scheduleFlush() }
    }

    /// Appends one message with descriptors, which must have been checked (``DescriptorPassing/check(_:on:)``).
    func write(_ descriptors: [OwnedDescriptor], _ body: (inout JSONWriter) -> Void) {
        let start = output.count
        write(body)
        passing?.attach(descriptors, to: start..<output.count)
    }

    /// Appends whole messages, each with its NUL.
    ///
    /// They are sent at the end of the loop's turn.
    package func write(_ messages: [UInt8]) {
        guard isOpen, !isDeaf else { return }
        messages.withUnsafeBufferPointer { output.append($0) }
        scheduleFlush()
    }

    /// Appends messages until `body` returns false, which means that it wrote nothing, or `limit` bytes wait.
    ///
    /// Returns whether there may be more. The caller has to ``flush()`` them.
    func writeMessages(upTo limit: Int, _ body: (inout JSONWriter) -> Bool) -> Bool {
        withWriter { writer in
            while writer.output.count + unsentElsewhere < limit {
                guard writer.message(body) else { return false }
            }
            return true
        } ?? false
    }

    /// Appends pieces of a message until it is complete, `limit` bytes wait, or the share of the turn is used up.
    ///
    /// Returns whether there is more. The caller has to ``flush()`` them.
    func write(_ message: inout MessageInPieces, upTo limit: Int, within share: TurnShare) -> Bool {
        withWriter { writer in
            while writer.output.count + unsentElsewhere < limit {
                guard message.write(to: &writer) else { return false }
                if share.isUsedUp { break }
            }
            return true
        } ?? false
    }

    /// Has `body` append to the output; returns nil if the peer reads no more.
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

    /// Sends as much as the socket takes now, or hands everything to other threads.
    func flush() {
        guard isOpen, let descriptor else { return }
        if let foreign { sendElsewhere(foreign) } else { send(to: descriptor) }
        watch()
    }

    private func send(to descriptor: OwnedDescriptor) {
        while output.count > 0 {
            let bytes = output.bytes
            let count =
                passing?.send(bytes, to: descriptor)
                ?? Glibc.send(
                    descriptor.rawValue, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            if count >= 0 {
                output.removeFirst(count, keeping: Self.keptCapacity)
            } else if errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM {
                break
            } else if errno != EINTR {
                // The peer has gone or reads no more, or too many descriptors of this user are in transit
                // (ETOOMANYREFS). Without this, the loop would keep reporting room in the socket.
                dropOutput()
                EventLoop.atEndOfTurn { self.onReady?(.hangUp) }
            }
        }
    }

    private func sendElsewhere(_ foreign: ForeignSocket) {
        foreign.send(output.bytes)
        output.removeFirst(output.count, keeping: Self.keptCapacity)
        lookAtUnsent(foreign)
    }

    private func lookAtUnsent(_ foreign: ForeignSocket) { unsentElsewhere = isDeaf ? 0 : foreign.unsentCount }

    /// Drops all output from now on, because the peer reads no more.
    func dropOutput() {
        isDeaf = true
        output.removeFirst(output.count, keeping: 0)
        unsentElsewhere = 0
        passing?.dropOutput()
        foreign?.dropOutput()
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
        if let foreign {
            if events.contains(.writable) { foreign.resume() }
            lookAtUnsent(foreign)
            watch()
        } else if events.contains(.writable) {
            flush()
        }
        onReady?(events)
    }

    /// Handles a notice from other threads.
    private func noticed(_ notice: ForeignSocket.Notice) {
        guard let foreign else { return }
        lookAtUnsent(foreign)
        var events: IOSource.Events = []
        if notice.contains(.readable) { events.insert(.readable) }
        if unsentElsewhere == 0 { events.insert(.writable) }
        if notice.contains(.failed) {
            dropOutput()
            events.insert(.hangUp)
        }
        watch()
        onReady?(events)
    }

    private func watch() {
        guard let source else { return }
        var events: IOSource.Events = []
        if interest.contains(.input) { events.insert(.readable) }
        if interest.contains(.hangUp) { events.insert(.hangUp) }
        if let foreign {
            if foreign.isFull { events.insert(.writable) }
            let isAwaited = interest != .input || unsentElsewhere > Self.keptCapacity
            if unsentElsewhere > 0, isAwaited { foreign.notifyWhenSent() }
        } else if interest.contains(.room) || output.count > 0 {
            events.insert(.writable)
        }
        source.events = events
    }
}

extension JSONWriter {
    /// Writes one message and its NUL, or nothing if `body` returns false.
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
