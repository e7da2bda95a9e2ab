// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import EventLoopIO

@Suite("Connections to processes of any user", .timeLimit(.minutes(1)))
@EventLoop struct ForeignSocketTests {
    private let peer: OwnedDescriptor
    private let socket: ForeignSocket
    private let notices: AsyncStream<ForeignSocket.Notice>

    init() throws {
        let (peer, ours) = try UnixSocket.makePair()
        self.peer = peer
        socket = ForeignSocket(ours, user: 1)
        let (notices, continuation) = AsyncStream<ForeignSocket.Notice>.makeStream()
        self.notices = notices
        socket.onNotice = { continuation.yield($0) }
    }

    private func look() -> String? {
        withUnsafeTemporaryAllocation(byteCount: 100, alignment: 1) { room in
            let count = socket.look(into: room)
            return count < 0 ? nil : String(decoding: room.prefix(count), as: UTF8.self)
        }
    }

    private func send(_ bytes: [UInt8]) { bytes.withUnsafeBufferPointer(socket.send) }

    /// Waits for this notice.
    private func notice(of event: ForeignSocket.Notice) async {
        for await notice in notices where !notice.isDisjoint(with: event) { return }
    }

    @Test("peeked bytes are seen once; those behind them are seen when other threads have received them")
    func looking() async {
        _ = peer.send(Array("one".utf8)[...])
        #expect(look() == "one")
        _ = peer.send(Array("two".utf8)[...])
        #expect(look() == nil)
        send([])
        await notice(of: .readable)
        #expect(look() == "two")
        #expect(shutdown(peer.rawValue, Int32(SHUT_WR)) == 0)
        send([])
        await notice(of: .readable)
        #expect(look() == "")
    }

    @Test("all output arrives in order, even if the peer takes only a part at first, and a notice says so")
    func sending() async {
        let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 / 1000) }
        for start in stride(from: 0, to: bytes.count, by: 100_000) { send(Array(bytes[start..<start + 100_000])) }
        await notice(of: .full)
        var received: [UInt8] = []
        while received.count < bytes.count {
            receive(into: &received)
            socket.resume()
            await Task.yield()
        }
        socket.notifyWhenSent()
        await notice(of: .sent)
        #expect(socket.unsentCount == 0)
        #expect(received == bytes)
    }

    @Test(
        "once peeked bytes are received and output is sent, it is released without being closed, and a notice says when"
    )
    func releasing() async throws {
        let (peer, ours) = try UnixSocket.makePair()
        let socket = ForeignSocket(ours, user: 1)
        let (notices, continuation) = AsyncStream<ForeignSocket.Notice>.makeStream()
        socket.onNotice = { continuation.yield($0) }
        _ = peer.send(Array("one".utf8)[...])
        var bytes = [UInt8](repeating: 0, count: 100)
        #expect(bytes.withUnsafeMutableBytes { socket.look(into: $0) } == 3)
        #expect(!socket.release())
        Array("reply".utf8).withUnsafeBufferPointer(socket.send)
        for await notice in notices where notice.contains(.sent) && socket.release() { break }
        #expect(recv(peer.rawValue, &bytes, 100, Int32(MSG_DONTWAIT)) == 5)
        _ = peer.send(Array("more".utf8)[...])
        #expect(recv(ours.rawValue, &bytes, 100, Int32(MSG_DONTWAIT)) == 4)
    }

    /// Receives everything that the peer can receive now.
    private func receive(into received: inout [UInt8]) {
        withUnsafeTemporaryAllocation(byteCount: 100_000, alignment: 1) { room in
            while case let count = peer.receive(into: room), count > 0 { received += room.prefix(count) }
        }
    }

    @Test("a peer that has gone is noticed at the next sending")
    func gone() async throws {
        #expect(shutdown(peer.rawValue, Int32(SHUT_RDWR)) == 0)
        send([1])
        await notice(of: .failed)
        #expect(socket.unsentCount == 0)
    }

    @Test("a socket is closed with its unreceived bytes, and is not read any more")
    func closing() async {
        _ = peer.send(Array(repeating: 1, count: 10_000)[...])
        socket.close()
        #expect(look() == nil)
        var pollfd = pollfd(fd: peer.rawValue, events: 0, revents: 0)
        while poll(&pollfd, 1, 0) == 0 { await Task.yield() }
        #expect(pollfd.revents & Int16(POLLHUP) != 0)
        send([1])
    }
}
