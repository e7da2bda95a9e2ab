// SPDX-License-Identifier: Apache-2.0

import CLinux
import EventLoopIO
import Glibc
import Testing

/// A client that only knows bytes, so it can send what no well-behaved client would.
///
/// It never blocks its thread: it waits with the event loop.
final class RawClient {
    private(set) var descriptor: Int32
    private var received: [UInt8] = []
    /// The number of received bytes without the end of a message.
    private var searched = 0

    /// Takes over a connected, non-blocking socket.
    init(adopting descriptor: Int32) { self.descriptor = descriptor }

    /// Connects to the socket at a path.
    convenience init(path: String) async throws {
        let socket = try await UnixSocket.connect(to: .path(path))
        self.init(adopting: dup(socket.rawValue))
    }

    deinit { close() }

    func close() {
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
    }

    /// Announces that it will send, or read, no more.
    func shutDown(_ direction: Int) { shutdown(descriptor, Int32(direction)) }

    /// Sends messages in one call, each with the NUL that ends it.
    func send(_ messages: String...) async {
        await send(bytes: messages.flatMap { Array($0.utf8) + [0] })
    }

    /// Sends bytes unchanged; waits while the socket is full.
    func send(bytes: [UInt8]) async {
        var rest = bytes[...]
        while true {
            rest = rest.dropFirst(sendWhatFits(rest))
            if rest.isEmpty || errno != EAGAIN { return }
            await Self.wait(descriptor, .writable)
        }
    }

    /// Sends as much as the socket takes now; returns the number of bytes.
    func sendWhatFits(_ bytes: ArraySlice<UInt8>) -> Int { Self.sendWhatFits(bytes, to: descriptor) }

    /// Sends as much as a socket takes now; returns the number of bytes.
    static func sendWhatFits(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Int {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            }
            if count < 0 { break }
            rest = rest.dropFirst(count)
        }
        return bytes.count - rest.count
    }

    /// The next message; nil if the service has closed the connection.
    func receive() async -> String? {
        while true {
            if let end = received[searched...].firstIndex(of: 0) {
                let message = String(decoding: received[..<end], as: UTF8.self)
                received.removeFirst(end + 1)
                searched = 0
                return message
            }
            searched = received.count
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            if count > 0 {
                received += buffer[..<count]
            } else if count < 0, errno == EAGAIN {
                await Self.wait(descriptor, .readable)
            } else {
                return nil
            }
        }
    }

    /// The next messages, as many as requested; fewer if the connection is closed before.
    func receive(_ count: Int) async -> [String] {
        var messages: [String] = []
        while messages.count < count, let message = await receive() { messages.append(message) }
        return messages
    }

    /// Whether the service closes the connection without sending anything more.
    func seesEnd() async -> Bool { await receive() == nil }

    /// Sends bytes with a descriptor, few enough to fit into the socket; returns whether the socket took them.
    static func send(_ text: String, with descriptor: OwnedDescriptor, to socket: Int32) -> Bool {
        var bytes = Array(text.utf8)
        // A control message by hand (cmsg(3)): length, level, type, descriptor.
        var control: [Int32] = [20, 0, SOL_SOCKET, Int32(SCM_RIGHTS), descriptor.rawValue, 0]
        return bytes.withUnsafeMutableBytes { bytes in
            control.withUnsafeMutableBytes { control in
                var vector = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
                return withUnsafeMutablePointer(to: &vector) { vector in
                    var header = msghdr()
                    (header.msg_iov, header.msg_iovlen) = (vector, 1)
                    (header.msg_control, header.msg_controllen) = (control.baseAddress, 24)
                    return sendmsg(socket, &header, 0) == bytes.count
                }
            }
        }
    }

    @EventLoop static func wait(_ descriptor: Int32, _ events: IOSource.Events) async {
        var source: IOSource?
        await withCheckedContinuation { continuation in
            var waiting: CheckedContinuation<Void, Never>? = continuation
            source = try? IOSource(OwnedDescriptor(adopting: dup(descriptor)), events: events) { _ in
                waiting?.resume()
                waiting = nil
                source?.cancel()
            }
        }
        source?.cancel()
    }

    /// Reads and drops everything, on a separate thread, until the socket is shut down.
    func readOnThread() -> pthread_t {
        var thread = pthread_t()
        let body: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
            var buffer = [UInt8](repeating: 0, count: 65_536)
            var socket = pollfd(fd: Int32(Int(bitPattern: context)), events: Int16(POLLIN), revents: 0)
            while poll(&socket, 1, -1) > 0, recv(socket.fd, &buffer, buffer.count, 0) > 0 {}
            return nil
        }
        pthread_create(&thread, nil, body, UnsafeMutableRawPointer(bitPattern: Int(descriptor)))
        return thread
    }
}
