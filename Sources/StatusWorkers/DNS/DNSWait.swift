// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import StatusModel
import StatusSupport

/// Waits for sockets until the timeout of a question.
struct DNSWait {
    let total: Duration
    let end: ContinuousClock.Instant

    init(_ total: Duration) { (self.total, end) = (total, .now + total) }

    /// The share of one of several servers, from now on.
    init(of whole: DNSWait, servers: Int) {
        total = whole.total / servers
        end = min(whole.end, .now + total)
    }

    var isOver: Bool { ContinuousClock.now >= end }

    /// Waits for events, and returns for each socket whether there is one.
    ///
    /// It ends the process if the daemon disconnects.
    func ready(_ sockets: [(OwnedDescriptor, Int32)], until end: ContinuousClock.Instant) -> [Bool] {
        var polled = sockets.map { pollfd(fd: $0.0.rawValue, events: Int16($0.1), revents: 0) }
        polled.append(pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0))
        let milliseconds = max(0, min((min(end, self.end) - .now) / .milliseconds(1) + 1, 1e9))
        poll(&polled, nfds_t(polled.count), Int32(milliseconds))
        // The daemon sends nothing during a question.
        if polled.removeLast().revents != 0 { _exit(0) }
        return polled.map { $0.revents != 0 }
    }
}

extension DNSClient {
    /// Asks again over TCP, because the answer is too long for a datagram; nil if the message is no valid answer.
    ///
    /// - Parameter wait: how long; other servers may know the answer, too.
    func askOverTCP(_ address: InternetAddress, _ wait: DNSWait) throws(DNSFailure) -> DNSReply? {
        do throws(DNSFailure) {
            let socket = try connected(to: address, wait)
            let bytes = question.bytes
            try transfer(socket, POLLOUT, wait, count: bytes.count + 2) { done in
                let rest = Array(([UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)] + bytes)[done...])
                return send(socket.rawValue, rest, rest.count, Int32(MSG_NOSIGNAL))
            }
            let length = try read(2, from: socket, wait)
            return DNSReply(try read(Int(length[0]) << 8 | Int(length[1]), from: socket, wait), to: question)
        } catch {
            guard case .server(let reason) = error else { throw error }
            throw .server("the answer is too long for UDP, and asking over TCP failed: \(reason)")
        }
    }

    private func connected(to address: InternetAddress, _ wait: DNSWait) throws(DNSFailure) -> OwnedDescriptor {
        guard let socket = try? OwnedDescriptor.makeSocket(address.family, Int32(SOCK_STREAM.rawValue)) else {
            throw .host("cannot create a socket")
        }
        var number = address.connect(socket)
        if number == EINPROGRESS {
            guard wait.ready([(socket, POLLOUT)], until: wait.end)[0] else { throw Self.silence(wait) }
            var length = socklen_t(MemoryLayout<Int32>.size)
            getsockopt(socket.rawValue, SOL_SOCKET, SO_ERROR, &number, &length)
        }
        if number == EADDRNOTAVAIL, !address.hasFreePort { throw .host("cannot ask: no free local port") }
        guard number == 0 else { throw try Self.failure(number) }
        return socket
    }

    private func read(
        _ count: Int, from socket: OwnedDescriptor, _ wait: DNSWait
    ) throws(DNSFailure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        try transfer(socket, POLLIN, wait, count: count) { done in
            bytes.withUnsafeMutableBytes {
                recv(socket.rawValue, $0.baseAddress.map { $0 + done }, count - done, Int32(MSG_DONTWAIT))
            }
        }
        return bytes
    }

    /// Calls `body` with the number of transferred bytes, whenever the socket is ready, until all are transferred.
    private func transfer(
        _ socket: OwnedDescriptor, _ event: Int32, _ wait: DNSWait, count: Int, _ body: (Int) -> Int
    ) throws(DNSFailure) {
        var done = 0
        while done < count {
            guard wait.ready([(socket, event)], until: wait.end)[0] else {
                if wait.isOver { throw Self.silence(wait) }
                continue
            }
            let some = body(done)
            if some == 0 { throw .server("the server closed the connection early") }
            if some > 0 { done += some } else if errno != EAGAIN && errno != EINTR { throw try Self.failure(errno) }
        }
    }

    private static func silence(_ wait: DNSWait) -> DNSFailure {
        .server("no answer within \(TimeSpan.text(wait.total))")
    }
}
