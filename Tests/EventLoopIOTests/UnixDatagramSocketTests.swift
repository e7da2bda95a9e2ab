// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Foundation
import Testing

@Suite("Datagram sockets", .timeLimit(.minutes(5)))
@EventLoop struct DatagramSocketTests {
    private let path = "/tmp/statusd-test-\(UUID().uuidString.prefix(8))"

    /// Sends bytes to the socket from another socket.
    private func send(_ bytes: [UInt8]) throws {
        let sender = OwnedDescriptor(adopting: socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8) + [0]) }
        let sent = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(sender.rawValue, bytes, bytes.count, 0, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(sent == bytes.count, "\(String(cString: strerror(errno)))")
    }

    /// Creates a socket, and a stream with the length and first byte of each datagram.
    private func received() throws -> (UnixDatagramSocket, AsyncStream<String>) {
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        let descriptor = try UnixSocket.bindDatagram(at: path, restrict: { _ in })
        let socket = try UnixDatagramSocket(adopting: descriptor) { datagram in
            let cut = datagram.isTruncated ? " cut" : ""
            continuation.yield("\(datagram.bytes.count) \(datagram.bytes.first ?? 0)\(cut)")
        }
        return (socket, stream)
    }

    @Test("deliver each datagram separately and in order, including empty ones")
    func inOrder() async throws {
        defer { unlink(path) }
        let (socket, stream) = try received()
        defer { socket.cancel() }
        var iterator = stream.makeAsyncIterator()
        for round in 0..<20 {
            for number in 1...8 { try send(Array(repeating: UInt8(round * 8 + number), count: number)) }
            for number in 1...8 { #expect(await iterator.next() == "\(number) \(round * 8 + number)") }
        }
        try send([])
        #expect(await iterator.next() == "0 0")
    }

    @Test("deliver everything that was sent before they finish")
    func finished() async throws {
        defer { unlink(path) }
        let (socket, stream) = try received()
        for number in 1...8 { try send([UInt8(number)]) }
        await withCheckedContinuation { end in socket.finish { end.resume() } }
        var iterator = stream.makeAsyncIterator()
        for number in 1...8 { #expect(await iterator.next() == "1 \(number)") }
    }

    @Test("take no more than a few datagrams beyond their share of a turn, even while they finish")
    @EventLoop func finishedInTurns() async throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
        let peer = OwnedDescriptor(adopting: ends[1])
        var count = 0
        let socket = try UnixDatagramSocket(adopting: OwnedDescriptor(adopting: ends[0])) { _ in
            count += 1
            let share = TurnShare()
            while !share.isUsedUp {}
        }
        for _ in 0..<50 { try #require(Glibc.send(peer.rawValue, "text", 4, 0) == 4) }
        await withCheckedContinuation { end in
            socket.finish { end.resume() }
            #expect(count <= 16)
        }
        #expect(count == 50)
    }

    @Test("cut datagrams that are longer than 64 KiB, and say so")
    func truncates() async throws {
        defer { unlink(path) }
        let (socket, stream) = try received()
        defer { socket.cancel() }
        var iterator = stream.makeAsyncIterator()
        try send(Array(repeating: 7, count: 65_536))
        #expect(await iterator.next() == "65536 7")
        try send(Array(repeating: 8, count: 65_537))
        #expect(await iterator.next() == "65536 8 cut")
    }
}
