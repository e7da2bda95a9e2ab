// SPDX-License-Identifier: Apache-2.0

package import EventLoopIO
import Glibc

/// A connected socket on the loop: what was read and not taken yet, and what is written and not sent yet.
@EventLoop
package final class Transport {
    /// What reading found.
    package enum ReadResult {
        /// Bytes, or nothing for now.
        case open
        /// The peer will send no more.
        case ended
        /// The peer sent descriptors that may not come, or not there.
        case descriptors
    }

    /// What was read and not taken yet.
    package var input = MessageInput()
    /// What is to be sent, but for what other threads send.
    private var output = ByteOutput()
    /// How many bytes other threads have been given that they are not known to have sent.
    private var unsentElsewhere = 0

    /// Until it is closed.
    private var descriptor: OwnedDescriptor?
    /// What makes the calls on the socket, if anybody may be at the other end.
    private var foreign: ForeignSocket?
    /// The descriptors that travel with messages; nil unless that was allowed.
    private(set) var passing: DescriptorPassing?
    private var source: IOSource?
    private var onReady: (@EventLoop (IOSource.Events) -> Void)?
    private var isFlushScheduled = false
    private var isWriting = false
    /// Whether the peer takes nothing any more; what is written is dropped from then on.
    private var isDeaf = false

    /// Memory for output beyond this is given back once all is sent; if no more than this is being sent while the next message is awaited, nothing waits for it.
    private static let keptCapacity = 16 * 1024

    /// What the loop watches the socket for, beside room for the output.
    package struct Interest: OptionSet {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// There is something to read, or the peer has gone.
        package static let input = Interest(rawValue: 1)
        /// The peer has gone.
        package static let hangUp = Interest(rawValue: 2)
        /// There is room to write, though there is nothing to be sent yet; where other threads send, all has been sent.
        package static let room = Interest(rawValue: 4)
    }

    /// What `onReady` is called for.
    package var interest: Interest = [] {
        didSet { if interest != oldValue { watch() } }
    }

    /// Whether it has not been closed from this side.
    var isOpen: Bool { source != nil }

    /// How many bytes wait to be sent, or may still be on their way to the socket.
    var unsentCount: Int { output.count + unsentElsewhere }

    /// Whether other threads are sending, and the peer takes what they send.
    var isBeingSent: Bool { unsentElsewhere > 0 && foreign?.isFull == false }

    /// Takes over a connected, non-blocking socket.
    package init(_ descriptor: OwnedDescriptor) { self.descriptor = descriptor }

    /// Takes over a connected, non-blocking socket whose peer is a process of some user.
    init(_ descriptor: OwnedDescriptor, user: UInt32) {
        self.descriptor = descriptor
        foreign = ForeignSocket(descriptor, user: user)
    }

    /// Begins to watch the socket.
    ///
    /// `onReady` is called for what is of interest, for a peer that has gone or takes no more (`hangUp`), and, with
    /// no events, after output was sent.
    package func open(_ onReady: @escaping @EventLoop (IOSource.Events) -> Void) throws(IOError) {
        self.onReady = onReady
        guard let descriptor else { return }
        source = try IOSource(descriptor, events: [], isEdgeTriggered: foreign != nil) {
            [unowned self] in ready($0)
        }
        foreign?.onNotice = { [unowned self] in noticed($0) }
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
        unsentElsewhere = 0
        if foreign == nil, let descriptor { shutdown(descriptor.rawValue, Int32(SHUT_RDWR)) }
        // Before other threads let it go, which then close it.
        descriptor = nil
        passing?.close()
        passing = nil
        foreign?.close()
        foreign = nil
    }

    /// Stops everything, as ``close()`` does, but returns the socket, which stays connected; nil if it was closed, or other threads still
    /// work on it. Then `onReady` is called when they have done that.
    func release() -> OwnedDescriptor? {
        if let foreign, !foreign.release() { return nil }
        foreign = nil
        let released = descriptor
        descriptor = nil
        close()
        return released
    }

    /// Allows descriptors to travel with messages; returns false if the socket is not a Unix socket.
    ///
    /// The loop itself receives and closes them, so the peer must be trusted not to make that slow.
    func allowDescriptors() -> Bool {
        precondition(foreign == nil, "other threads pass no descriptors")
        var domain: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard let descriptor, getsockopt(descriptor.rawValue, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0,
            domain == AF_UNIX
        else { return false }
        if passing == nil { passing = DescriptorPassing() }
        return true
    }

    /// The supplementary groups of the peer.
    var peerGroups: [UInt32] { descriptor.map { UnixSocket.peerGroups(of: $0.rawValue) } ?? [] }

    /// Reads once what is there, as much as there is room for.
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
            // ECONNRESET and the like: nothing more will come.
            if errno != EINTR { return .ended }
        }
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

    /// Appends one message with descriptors, which may be attached to it (``DescriptorPassing/check(_:on:)``).
    func write(_ descriptors: [OwnedDescriptor], _ body: (inout JSONWriter) -> Void) {
        let start = output.count
        write(body)
        passing?.attach(descriptors, to: start..<output.count)
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
            while writer.output.count + unsentElsewhere < limit {
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
            while writer.output.count + unsentElsewhere < limit {
                guard message.write(to: &writer) else { return false }
                if share.isUsedUp { break }
            }
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

    /// Sends as much as the socket takes now, or has other threads do that.
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
                // The peer has gone, or has shut down its reading side. The loop would call the socket writable for ever.
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

    /// Drops what was not sent, and all that will be written: the peer reads no more.
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

    /// Other threads have something to tell.
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
