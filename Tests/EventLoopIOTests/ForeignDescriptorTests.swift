// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing

@testable import EventLoopIO

@Suite("Descriptors of other processes", .timeLimit(.minutes(5))) struct ForeignDescriptorTests {
    /// Creates a connection: the end that is read, and the peer's end.
    private func connection() throws -> (mine: OwnedDescriptor, peer: OwnedDescriptor) {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        return (OwnedDescriptor(adopting: ends[0]), OwnedDescriptor(adopting: ends[1]))
    }

    private func send(_ text: String, with descriptor: Int32? = nil, to peer: OwnedDescriptor) {
        var bytes = Array(text.utf8)
        // A control message by hand (cmsg(3)): length, level, type, descriptor.
        var control: [Int32] = [20, 0, SOL_SOCKET, Int32(SCM_RIGHTS), descriptor ?? -1, 0]
        let sent = bytes.withUnsafeMutableBytes { bytes in
            control.withUnsafeMutableBytes { control in
                var vector = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
                return withUnsafeMutablePointer(to: &vector) { vector in
                    var header = msghdr()
                    header.msg_iov = vector
                    header.msg_iovlen = 1
                    if descriptor != nil { (header.msg_control, header.msg_controllen) = (control.baseAddress, 24) }
                    return sendmsg(peer.rawValue, &header, 0)
                }
            }
        }
        #expect(sent == bytes.count)
    }

    private func receive(_ descriptor: OwnedDescriptor) -> String? {
        var bytes = [UInt8](repeating: 0, count: 100)
        let count = bytes.withUnsafeMutableBytes { descriptor.receiveBytes(into: $0) }
        return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    @Test("bytes without descriptors are read; bytes with descriptors are refused, and the descriptors closed")
    func receiving() async throws {
        let (mine, peer) = try connection()
        send("before", to: peer)
        #expect(receive(mine) == "before")
        var pipe: [Int32] = [-1, -1]
        try #require(Glibc.pipe(&pipe) == 0)
        let reading = OwnedDescriptor(adopting: pipe[0])
        send("with", with: pipe[1], to: peer)
        close(pipe[1])
        #expect(receive(mine) == nil)
        #expect(errno == EPROTO)
        // The pipe ends when its last writer is closed.
        #expect(try await IOSource.wait(for: .readable, of: reading))
    }

    @Test("a connection with descriptors in its queue is closed together with them")
    func closing() async throws {
        var pipe: [Int32] = [-1, -1]
        try #require(Glibc.pipe(&pipe) == 0)
        let reading = OwnedDescriptor(adopting: pipe[0])
        let (mine, peer) = try connection()
        send("with", with: pipe[1], to: peer)
        close(pipe[1])
        mine.closeConnection()
        #expect(try await IOSource.wait(for: .readable, of: reading))
    }

    @Test("closing a connection does not wait for a lingering socket in its queue")
    func lingering() async throws {
        let (mine, peer) = try connection()
        let (socket, other) = try await lingeringSocket(seconds: 30)
        send("with", with: socket.rawValue, to: peer)
        _ = consume socket
        let begin = ContinuousClock.now
        mine.closeConnection()
        #expect(ContinuousClock.now - begin < .seconds(30))
        withExtendedLifetime(other) {}
    }

    /// Returns a socket whose close(2) blocks (SO_LINGER) because its peer does not read, and that peer.
    private func lingeringSocket(seconds: Int32) async throws -> (OwnedDescriptor, peer: OwnedDescriptor) {
        let listener = try await TCPSocket.listen(at: "127.0.0.1", port: 0)
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            _ = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getsockname(listener.rawValue, $0, &length)
            }
        }
        let socket = try await TCPSocket.connect(
            to: "127.0.0.1", port: UInt16(bigEndian: address.sin_port), timeout: .seconds(600))
        let peer = OwnedDescriptor(adopting: accept(listener.rawValue, nil, nil))
        var linger = Glibc.linger(l_onoff: 1, l_linger: seconds)
        setsockopt(socket.rawValue, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
        let bytes = [UInt8](repeating: 0, count: 1 << 16)
        while Glibc.send(socket.rawValue, bytes, bytes.count, Int32(MSG_DONTWAIT)) > 0 {}
        return (socket, peer)
    }

    /// Creates a datagram socket that delivers its input, and a socket that is connected to it.
    @EventLoop private func receiver() throws -> (UnixDatagramSocket, peer: OwnedDescriptor, AsyncStream<String>) {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        let socket = try UnixDatagramSocket(adopting: OwnedDescriptor(adopting: ends[0])) { datagram in
            continuation.yield(String(decoding: datagram.bytes, as: UTF8.self))
        }
        return (socket, OwnedDescriptor(adopting: ends[1]), stream)
    }

    @Test("descriptors of a datagram are closed when its text is handled, and later datagrams are received")
    @EventLoop func datagrams() async throws {
        let (socket, peer, stream) = try receiver()
        var iterator = stream.makeAsyncIterator()
        for _ in 0..<3 {
            var pipe: [Int32] = [-1, -1]
            try #require(Glibc.pipe(&pipe) == 0)
            let reading = OwnedDescriptor(adopting: pipe[0])
            send("first", to: peer)
            send("with", with: pipe[1], to: peer)
            send("behind", to: peer)
            close(pipe[1])
            for text in ["first", "with", "behind"] { #expect(await iterator.next() == text) }
            // The pipe ends when its last writer is closed.
            #expect(try await IOSource.wait(for: .readable, of: reading))
        }
        socket.cancel()
    }

    @Test("everything sent is received before the socket reports it, even behind descriptors", arguments: 0..<3)
    @EventLoop func receivesAll(withDescriptor: Int) async throws {
        let (socket, peer, stream) = try receiver()
        var iterator = stream.makeAsyncIterator()
        for number in 0..<3 { send("\(number)", with: number == withDescriptor ? peer.rawValue : nil, to: peer) }
        await withCheckedContinuation { received in socket.receiveAll { received.resume() } }
        socket.cancel()
        for number in 0..<3 { #expect(await iterator.next() == "\(number)") }
    }

    @Test("more datagrams than one system call receives arrive in order")
    @EventLoop func many() async throws {
        let (socket, peer, stream) = try receiver()
        var iterator = stream.makeAsyncIterator()
        for number in 0..<50 { send("\(number)", to: peer) }
        for number in 0..<50 { #expect(await iterator.next() == "\(number)") }
        socket.cancel()
    }

    @Test("a socket that its handler cancels delivers nothing more, and closes the descriptors that follow")
    @EventLoop func cancelledByHandler() async throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
        let peer = OwnedDescriptor(adopting: ends[1])
        var pipe: [Int32] = [-1, -1]
        try #require(Glibc.pipe(&pipe) == 0)
        let reading = OwnedDescriptor(adopting: pipe[0])
        var received: [String] = []
        var socket: UnixDatagramSocket?
        socket = try UnixDatagramSocket(adopting: OwnedDescriptor(adopting: ends[0]), isHeld: true) { datagram in
            received.append(String(decoding: datagram.bytes, as: UTF8.self))
            if received.last == "last" { socket?.cancel() }
        }
        for text in ["first", "last", "after"] { send(text, to: peer) }
        send("with", with: pipe[1], to: peer)
        close(pipe[1])
        socket?.resume()
        // The pipe ends when its last writer is closed.
        #expect(try await IOSource.wait(for: .readable, of: reading))
        #expect(received == ["first", "last"])
    }

    @Test("a suspended socket receives nothing until it is resumed")
    @EventLoop func held() async throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
        let peer = OwnedDescriptor(adopting: ends[1])
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        var count = 0
        let socket = try UnixDatagramSocket(adopting: OwnedDescriptor(adopting: ends[0]), isHeld: true) {
            count += 1
            continuation.yield(String(decoding: $0.bytes, as: UTF8.self))
        }
        send("text", to: peer)
        for _ in 0..<3 { await withCheckedContinuation { turn in EventLoop.atNextTurn { turn.resume() } } }
        #expect(count == 0)
        socket.resume()
        var iterator = stream.makeAsyncIterator()
        #expect(await iterator.next() == "text")
        socket.cancel()
    }
}
