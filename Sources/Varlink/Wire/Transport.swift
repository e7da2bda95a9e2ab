// SPDX-License-Identifier: Apache-2.0

package import EventLoopIO
import Glibc

/// A connected socket on the event loop, with its unused input and its unsent output.
@EventLoop
package final class Transport: EndOfTurnWork {
    /// The result of reading.
    package enum ReadResult {
        /// Bytes were read, or there are none for now.
        case open
        /// The peer sends no more.
        case ended
        /// The peer sent descriptors, which are not supported.
        case descriptors
    }

    private final class Socket {
        let descriptor: OwnedDescriptor
        let source: IOSource
        let onReady: @EventLoop (IOSource.Events) -> Void

        init(
            _ descriptor: OwnedDescriptor, _ source: IOSource, _ onReady: @escaping @EventLoop (IOSource.Events) -> Void
        ) {
            self.descriptor = descriptor
            self.source = source
            self.onReady = onReady
        }
    }

    private enum State {
        case unopened(OwnedDescriptor)
        case open(Socket)
        /// The peer reads no more; output is dropped.
        case deaf(Socket)
        case closed
    }

    /// The unused input.
    package var input = MessageInput()
    /// The unsent output.
    private var output = ByteOutput()
    private var state: State
    private var isFlushScheduled = false
    private var isWriting = false

    /// Memory for output, which the connections use in turn; they seldom have output at the same time.
    private static var spare = ByteOutput()
    /// Larger memory is freed once everything is sent.
    private static let keptCapacity = 256 * 1024

    /// The events to wait for; while output is unsent, also for room.
    package var interest: IOSource.Events = [] {
        didSet { if interest != oldValue { watch() } }
    }

    /// Whether this side has not closed the socket.
    var isOpen: Bool { socket != nil }

    /// How many bytes wait to be sent.
    var unsentCount: Int { output.count }

    private var socket: Socket? {
        switch state {
        case .open(let socket), .deaf(let socket): socket
        case .unopened, .closed: nil
        }
    }

    /// Takes over a connected, non-blocking socket.
    package init(_ descriptor: OwnedDescriptor) { state = .unopened(descriptor) }

    /// Starts to watch the socket.
    ///
    /// `onReady` is called for events in `interest`, when the peer has gone or reads no more (`hangUp`), and, without
    /// events, after output was sent.
    package func open(_ onReady: @escaping @EventLoop (IOSource.Events) -> Void) throws(IOError) {
        guard case .unopened(let descriptor) = state else { return }
        let source = try IOSource(descriptor, events: []) { [unowned self] in ready($0) }
        state = .open(Socket(descriptor, source, onReady))
        watch()
    }

    /// Closes the socket and drops what was not sent.
    ///
    /// Call this before releasing the transport. Queued work may keep the transport longer, but not the socket.
    package func close() {
        guard let socket else { return }
        state = .closed
        releaseOutput()
        socket.source.cancel()
        socket.descriptor.closeConnection()
    }

    /// The supplementary groups of the peer.
    var peerGroups: [UInt32] { socket.map { PeerCredentials.groups(ofConnected: $0.descriptor.rawValue) } ?? [] }

    /// Reads once, as much as there is room for.
    package func read() -> ReadResult {
        guard let socket else { return .ended }
        let count = socket.descriptor.receiveBytes(into: input.room())
        if count > 0 {
            input.add(count)
            return .open
        }
        if count == 0 { return .ended }
        switch errno {
        case EAGAIN: return .open
        case EPROTO: return .descriptors
        // ECONNRESET and the like: there is no more input.
        default: return .ended
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

    /// Appends whole messages, each with its NUL.
    ///
    /// They are sent at the end of the loop's turn.
    package func write(_ messages: [UInt8]) {
        guard case .open = state else { return }
        takeSpare()
        messages.withUnsafeBufferPointer { output.append($0) }
        scheduleFlush()
    }

    /// Appends messages until `body` returns false, which means that it wrote nothing, or `limit` bytes wait.
    ///
    /// Returns whether there may be more. The caller has to ``flush()`` them.
    func writeMessages(upTo limit: Int, _ body: (inout JSONWriter) -> Bool) -> Bool {
        withWriter { writer in
            while writer.output.count < limit {
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
            while writer.output.count < limit {
                guard message.write(to: &writer) else { return false }
                if share.isUsedUp { break }
            }
            return true
        } ?? false
    }

    /// Lets `body` append to the output; returns nil if the peer reads no more.
    private func withWriter(_ body: (inout JSONWriter) -> Bool) -> Bool? {
        guard case .open = state else { return nil }
        precondition(!isWriting, "messages cannot be nested")
        isWriting = true
        defer { isWriting = false }
        takeSpare()
        var taken = ByteOutput()
        swap(&output, &taken)
        var writer = JSONWriter(taken)
        let result = body(&writer)
        output = writer.takeOutput()
        return result
    }

    /// Sends as much as the socket takes now.
    func flush() {
        guard let socket else { return }
        while output.count > 0 {
            let bytes = output.bytes
            let count = send(
                socket.descriptor.rawValue, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            if count >= 0 {
                output.removeFirst(count)
                if output.count == 0 { releaseOutput() }
            } else if errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM {
                break
            } else if errno != EINTR {
                // The peer has gone or reads no more. Without this, the loop would keep reporting room in the socket.
                dropOutput()
                EventLoop.atEndOfTurn { self.socket?.onReady(.hangUp) }
            }
        }
        watch()
    }

    /// Uses the spare memory if there is none of its own.
    private func takeSpare() {
        if output.capacity == 0 { swap(&output, &Self.spare) }
    }

    /// Drops what was not sent; the memory becomes the spare one, unless that is larger.
    private func releaseOutput() {
        output.removeFirst(output.count)
        let capacity = output.capacity
        if capacity > Self.spare.capacity, capacity <= Self.keptCapacity { swap(&output, &Self.spare) }
        output = ByteOutput()
    }

    /// Drops all output from now on, because the peer reads no more.
    func dropOutput() {
        if case .open(let socket) = state { state = .deaf(socket) }
        releaseOutput()
        watch()
    }

    private func scheduleFlush() {
        guard !isFlushScheduled else { return }
        isFlushScheduled = true
        EventLoop.atEndOfTurn(self)
    }

    package func turnEnds() {
        isFlushScheduled = false
        flush()
        socket?.onReady([])
    }

    private func ready(_ events: IOSource.Events) {
        if events.contains(.writable) { flush() }
        socket?.onReady(events)
    }

    private func watch() {
        guard let socket else { return }
        socket.source.events = output.count > 0 ? interest.union(.writable) : interest
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
