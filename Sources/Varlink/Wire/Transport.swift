// SPDX-License-Identifier: Apache-2.0

import Glibc
import Systemd

/// A connected socket on the loop, with the bytes that are still to be sent.
@EventLoop
final class Transport {
    /// What reading found.
    enum Input {
        /// This many bytes.
        case bytes(Int)
        /// Nothing for now.
        case nothing
        /// The peer will send no more.
        case end
        /// The connection is broken.
        case broken
    }

    /// What is to be sent, and was not yet.
    var output = ByteOutput()

    private let descriptor: OwnedDescriptor
    /// Whether a peer that goes away is noticed while no input is waited for.
    private let noticesHangUp: Bool
    private var source: IOSource?
    private var isFlushScheduled = false
    private let onReady: @EventLoop (IOSource.Events) -> Void

    /// Memory for output beyond this is given back once all is sent.
    private static let keptCapacity = 16 * 1024

    /// Whether input is waited for.
    var wantsInput = true {
        didSet { updateInterest() }
    }

    var isOpen: Bool { source != nil }

    /// Takes over a connected, non-blocking socket. `onReady` is called for input, for a hang-up, and after output was sent.
    init(
        _ descriptor: OwnedDescriptor, noticesHangUp: Bool, onReady: @escaping @EventLoop (IOSource.Events) -> Void
    ) throws(SystemdError) {
        self.descriptor = descriptor
        self.noticesHangUp = noticesHangUp
        self.onReady = onReady
        source = try IOSource(descriptor: descriptor.rawValue, events: .readable) { [weak self] events in
            self?.ready(events)
        }
    }

    /// Stops everything; what was not sent is dropped. The socket is closed with the last reference to this.
    func close() {
        source?.cancel()
        source = nil
        shutdown(descriptor.rawValue, Int32(SHUT_RDWR))
    }

    /// Reads what is there, at most as much as fits.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Input {
        while true {
            let count = recv(descriptor.rawValue, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
            if count > 0 { return .bytes(count) }
            if count == 0 { return .end }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .nothing
            default: return .broken
            }
        }
    }

    /// Appends one message: a JSON text and the NUL that ends it.
    func write(_ body: (inout JSONWriter) -> Void) {
        withWriter(body)
        output.append(0)
        scheduleFlush()
    }

    /// Gives the output to a writer for the time of `body`.
    func withWriter(_ body: (inout JSONWriter) -> Void) {
        var taken = ByteOutput()
        swap(&output, &taken)
        var writer = JSONWriter(taken)
        body(&writer)
        output = writer.takeOutput()
    }

    /// Sends once for all messages of this turn of the loop.
    func scheduleFlush() {
        guard !isFlushScheduled, isOpen else { return }
        isFlushScheduled = true
        EventLoop.atEndOfTurn { [weak self] in
            guard let self else { return }
            isFlushScheduled = false
            flush()
            if isOpen { onReady([]) }
        }
    }

    /// Sends as much as the socket takes now; returns whether all was sent.
    @discardableResult
    func flush() -> Bool {
        guard isOpen else { return false }
        while output.count > 0 {
            let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
            let count = send(descriptor.rawValue, output.bytes.baseAddress, output.count, flags)
            if count < 0 {
                if errno == EINTR { continue }
                // A broken connection is found by the hang-up that comes with it.
                break
            }
            output.removeFirst(count, keeping: Self.keptCapacity)
        }
        updateInterest()
        return output.count == 0
    }

    private func ready(_ events: IOSource.Events) {
        if events.contains(.writable) { flush() }
        if isOpen { onReady(events) }
    }

    private func updateInterest() {
        guard let source else { return }
        var events: IOSource.Events = wantsInput ? .readable : noticesHangUp ? .hangUp : []
        if output.count > 0 { events.insert(.writable) }
        source.events = events
    }
}
