// SPDX-License-Identifier: Apache-2.0

import Glibc
import Systemd

/// One client's connection: messages in, calls one after another, replies out.
@EventLoop
final class ServerConnection {
    let credentials: PeerCredentials
    unowned let service: VarlinkService
    private(set) var transport: Transport
    /// The stream of the call that is being answered.
    var stream: VarlinkStream?

    /// The call that is being answered; the next one waits.
    private var current: VarlinkCall?
    /// What was read and not handled yet: the beginning of a message, or whole messages behind the current call.
    private var unhandled: [UInt8] = []
    /// Whether whole messages are among what is not handled yet.
    private var hasWaitingMessages = false
    /// Whether the client will send no more.
    private var inputEnded = false
    private var isHandling = false

    init(_ descriptor: OwnedDescriptor, service: VarlinkService) throws(SystemdError) {
        self.service = service
        credentials = try UnixSocket.peerCredentials(of: descriptor.rawValue)
        // In two steps, since the transport calls the connection.
        let reference = WeakReference()
        transport = try Transport(descriptor, noticesHangUp: true) { reference.connection?.ready($0) }
        reference.connection = self
    }

    private final class WeakReference { weak var connection: ServerConnection? }

    /// Ends the connection. The call that is being answered is cancelled, its stream is closed.
    func close() {
        guard transport.isOpen else { return }
        transport.close()
        stream?.close()
        stream = nil
        current?.abandon()
        current = nil
        service.remove(self)
    }

    /// The current call has been answered.
    func callEnded() {
        stream = nil
        current = nil
        // Where a handler answers at once, the loop over the messages goes on behind it.
        if !isHandling { handleUnhandled() }
    }

    // MARK: Reading

    private func ready(_ events: IOSource.Events) {
        if hasWaitingMessages, mayHandle { handleUnhandled() }
        if events.contains(.readable), mayRead { readAndHandle() }
        guard transport.isOpen else { return }
        // All that the client sent before it went away has been read where it may be; what it still waits for, it will not see.
        if events.contains(.hangUp) || events.contains(.error), !transport.wantsInput || inputEnded {
            return close()
        }
        if let stream, stream.isHungry { stream.pump() }
        updateReading()
    }

    private var mayRead: Bool {
        mayHandle && !inputEnded && !hasWaitingMessages
    }

    private func readAndHandle() {
        service.withScratch { scratch in
            let start = unhandled.count
            unhandled.withUnsafeBytes { scratch.copyMemory(from: $0) }
            switch transport.read(into: UnsafeMutableRawBufferPointer(rebasing: scratch[start...])) {
            case .bytes(let count): handle(UnsafeRawBufferPointer(rebasing: scratch[..<(start + count)]), scanned: start)
            case .nothing: break
            case .end: inputEnded = true
            case .broken: close()
            }
        }
        updateReading()
    }

    /// Goes on with what had been read while a call was being answered.
    private func handleUnhandled() {
        guard transport.isOpen else { return }
        service.withScratch { scratch in
            let count = unhandled.count
            unhandled.withUnsafeBytes { scratch.copyMemory(from: $0) }
            handle(UnsafeRawBufferPointer(rebasing: scratch[..<count]), scanned: 0)
        }
        updateReading()
    }

    private func updateReading() {
        guard transport.isOpen else { return }
        let wantsInput = mayRead
        if wantsInput != transport.wantsInput { transport.wantsInput = wantsInput }
        if inputEnded, current == nil, !hasWaitingMessages, transport.output.count == 0 { close() }
    }

    // MARK: Handling

    /// Handles whole messages as long as each is answered at once, and keeps the rest.
    private func handle(_ bytes: UnsafeRawBufferPointer, scanned: Int) {
        isHandling = true
        defer { isHandling = false }
        var start = 0
        var from = scanned
        while mayHandle, let base = bytes.baseAddress, from < bytes.count,
            let end = memchr(base + from, 0, bytes.count - from).map({ base.distance(to: UnsafeRawPointer($0)) })
        {
            guard end - start <= service.limits.maximumMessageBytes else { return close() }
            handleMessage(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
            start = end + 1
            from = start
        }
        guard transport.isOpen else { return }
        let rest = bytes[start...]
        hasWaitingMessages = !mayHandle && !rest.isEmpty
        guard hasWaitingMessages || rest.count <= service.limits.maximumMessageBytes else { return close() }
        if !rest.isEmpty || !unhandled.isEmpty { unhandled = Array(rest) }
    }

    private var mayHandle: Bool {
        transport.isOpen && current == nil && transport.output.count < service.limits.maximumUnsentBytes
    }

    private func handleMessage(_ message: UnsafeRawBufferPointer) {
        let envelope: CallEnvelope
        do throws(JSONError) { envelope = try CallEnvelope(message) } catch { return close() }
        let parameters = envelope.parameters.map { UnsafeRawBufferPointer(rebasing: message[$0]) }
        let route = service.route(envelope.method)
        let call = VarlinkCall(
            envelope, method: route.method, parameters: parameters, connection: self)
        current = call
        if envelope.wantsUpgrade {
            call.failNotImplemented()
        } else if let interface = route.interface {
            interface.handle(call)
        } else {
            call.fail(service.notFound(envelope.method))
        }
        call.handlerReturned()
    }
}
