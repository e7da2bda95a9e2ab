// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing

@testable import Systemd

@Suite("Unix sockets", .timeLimit(.minutes(1))) struct SocketTests {
    private func temporaryPath() -> String { "/tmp/statusd-test-\(UUID().uuidString.prefix(8))" }

    @Test("a socket that a living process listens on is refused, one that nobody listens on is replaced")
    func livingAndDead() throws {
        let path = temporaryPath()
        defer { unlink(path) }
        var living: OwnedDescriptor? = try UnixSocket.listen(at: path, mode: 0o600)
        let refusal = #expect(throws: SystemdError.self) { try UnixSocket.listen(at: path, mode: 0o600) }
        #expect(refusal?.code == .addressInUse)
        #expect(living != nil)
        living = nil
        _ = try UnixSocket.listen(at: path, mode: 0o600)
    }

    @Test("what is no socket is refused and never removed")
    func foreignFile() throws {
        let path = temporaryPath()
        defer { unlink(path) }
        try "precious".write(toFile: path, atomically: true, encoding: .utf8)
        let refusal = #expect(throws: SystemdError.self) { try UnixSocket.listen(at: path, mode: 0o600) }
        #expect(refusal?.code == .notASocket)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "precious")
    }

    @Test("a path that is too long and an address that is none are told so")
    func addresses() throws {
        let long = #expect(throws: SystemdError.self) {
            try UnixAddress(parsing: "/" + String(repeating: "x", count: 108))
        }
        #expect(long?.code == .pathTooLong)
        for text in ["", "unix:", "relative", "@", "tcp:1"] {
            let error = #expect(throws: SystemdError.self) { try UnixAddress(parsing: text) }
            #expect(error?.code == .invalidAddress)
        }
        #expect(try UnixAddress(parsing: "unix:@x") == .abstract("x"))
        #expect(try UnixAddress(parsing: "/x") == .path("/x"))
    }

    @Test("a connecting client's credentials are its own")
    func credentials() async throws {
        let path = temporaryPath()
        defer { unlink(path) }
        let listener = try UnixSocket.listen(at: path, mode: 0o600)
        let client = try await UnixSocket.connect(to: .path(path))
        let accepted = try #require(try UnixSocket.accept(listener.rawValue))
        let credentials = try UnixSocket.peerCredentials(of: accepted.rawValue)
        #expect(credentials.processID == getpid())
        #expect(credentials.userID == geteuid())
        withExtendedLifetime(client) {}
    }
}

@Suite("Descriptors of other processes", .timeLimit(.minutes(1))) struct ForeignDescriptorTests {
    /// A connection that this end reads, and the peer's end.
    private func connection() throws -> (mine: OwnedDescriptor, peer: OwnedDescriptor) {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        return (OwnedDescriptor(adoptingConnection: ends[0]), OwnedDescriptor(adopting: ends[1]))
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
        let count = bytes.withUnsafeMutableBytes { descriptor.receive(into: $0) }
        return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    @Test("bytes without descriptors are read; from the first descriptor on nothing more is")
    func receiving() throws {
        let (mine, peer) = try connection()
        send("before", to: peer)
        #expect(receive(mine) == "before")
        send("with", with: peer.rawValue, to: peer)
        #expect(receive(mine) == nil)
        #expect(errno == EPROTO)
        #expect(receive(mine) == nil)
    }

    @Test("a connection with descriptors in its queue is closed, and they with it")
    func closing() async throws {
        var pipe: [Int32] = [-1, -1]
        try #require(Glibc.pipe(&pipe) == 0)
        let reading = OwnedDescriptor(adopting: pipe[0])
        var ends: (mine: OwnedDescriptor, peer: OwnedDescriptor)? = try connection()
        if let ends { send("with", with: pipe[1], to: ends.peer) }
        close(pipe[1])
        ends = nil
        // The pipe ends when its last writer is closed.
        #expect(try await Readiness(of: reading.rawValue, for: .readable).wait())
    }

    /// A datagram socket that hands on what it receives, and a socket that is connected to it.
    @EventLoop private func receiver() throws -> (DatagramSocket, peer: OwnedDescriptor, AsyncStream<String>) {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        let socket = try DatagramSocket(adopting: OwnedDescriptor(adoptingReceiver: ends[0])) { datagram in
            continuation.yield(String(decoding: datagram.bytes, as: UTF8.self))
        }
        return (socket, OwnedDescriptor(adopting: ends[1]), stream)
    }

    @Test(
        "descriptors that come with a datagram are released when its text is handled, and what is behind it is received"
    )
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
            // The pipe ends when its last writer is released.
            #expect(try await Readiness(of: reading.rawValue, for: .readable).wait())
        }
        socket.cancel()
    }

    @Test("all that was sent is received before it is said to be, also what is behind descriptors", arguments: 0..<3)
    @EventLoop func receivesAll(withDescriptor: Int) async throws {
        let (socket, peer, stream) = try receiver()
        var iterator = stream.makeAsyncIterator()
        for number in 0..<3 { send("\(number)", with: number == withDescriptor ? peer.rawValue : nil, to: peer) }
        await withCheckedContinuation { received in socket.receiveAll { received.resume() } }
        socket.cancel()
        for number in 0..<3 { #expect(await iterator.next() == "\(number)") }
    }

    @Test("a socket that is held receives nothing until it goes on")
    @EventLoop func held() async throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
        let peer = OwnedDescriptor(adopting: ends[1])
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        var count = 0
        let socket = try DatagramSocket(adopting: OwnedDescriptor(adoptingReceiver: ends[0]), isHeld: true) {
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

    @Test("a policy is a list on a file, by which the kernel decides who may use it")
    func accessList() throws {
        let path = "/tmp/statusd-test-\(UUID().uuidString.prefix(8))"
        defer { unlink(path) }
        close(open(path, O_CREAT | O_RDWR, 0o600))
        try AccessPolicy(users: [65534, 1, 1], groups: [7]).apply(to: path)
        var status = stat()
        stat(path, &status)
        // With a list, the group's bits are the most that anybody on it may.
        #expect(status.st_mode & 0o777 == 0o660)
        try AccessPolicy().apply(toDirectory: path)
        stat(path, &status)
        #expect(status.st_mode & 0o777 == 0o710)
    }
}

@Suite("File locks", .timeLimit(.minutes(1))) struct FileLockTests {
    private let path = "/tmp/statusd-test-\(UUID().uuidString.prefix(8))"

    @Test("a lock that another holds is refused at once, and free again when that one is gone")
    func exclusive() throws {
        defer { unlink(path) }
        var first: FileLock? = try FileLock(at: path)
        let refusal = #expect(throws: SystemdError.self) { try FileLock(at: path) }
        #expect(refusal?.code == .addressInUse)
        #expect(first != nil)
        first = nil
        _ = try FileLock(at: path)
    }

    @Test("a lock whose holder has ended, but for a thread that cannot be killed, is free")
    func holderThatHasEnded() throws {
        defer { unlink(path) }
        let lock = try FileLock(at: path)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "\(getpid())\n")
        // A process that has ended and that nobody has waited for.
        var child: pid_t = 0
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("true"), nil]
        defer { free(arguments[0]) }
        try #require(posix_spawn(&child, "/bin/true", nil, nil, &arguments, nil) == 0)
        var information = siginfo_t()
        try #require(waitid(P_PID, id_t(child), &information, Int32(WEXITED) | Int32(WNOWAIT)) == 0)
        try "\(child)\n".write(toFile: path, atomically: false, encoding: .utf8)
        _ = try FileLock(at: path)
        waitpid(child, nil, 0)
        withExtendedLifetime(lock) {}
    }

    @Test("a file that others may open, and have locked, is replaced", arguments: [0o644, 0o666])
    func lockedByOthers(mode: UInt32) throws {
        defer { unlink(path) }
        let foreign = open(path, O_RDWR | O_CREAT, 0o600)
        defer { close(foreign) }
        fchmod(foreign, mode)
        flock(foreign, LOCK_EX)
        let lock = try FileLock(at: path)
        var status = stat()
        stat(path, &status)
        #expect(status.st_mode & 0o777 == 0o600)
        withExtendedLifetime(lock) {}
    }

    @Test("a file with something else in it is refused, and left alone", arguments: ["precious\n", "1", "1\n2\n"])
    func otherContent(text: String) throws {
        defer { for path in [path, path + ".next"] { unlink(path) } }
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        #expect(throws: SystemdError.self) { try FileLock(at: path) }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
    }

    @Test("one that a disk has filled with zeros, when the power failed, is free")
    func lostContent() throws {
        defer { for path in [path, path + ".next"] { unlink(path) } }
        try "\0\0\0\0".write(toFile: path, atomically: true, encoding: .utf8)
        _ = try FileLock(at: path)
    }

    @Test("a link or a pipe in its place is replaced, and what the link leads to is left alone")
    func otherFiles() throws {
        defer { unlink(path) }
        let precious = path + ".precious"
        try "precious".write(toFile: precious, atomically: true, encoding: .utf8)
        defer { unlink(precious) }
        symlink(precious, path)
        _ = try FileLock(at: path)
        #expect(try String(contentsOfFile: precious, encoding: .utf8) == "precious")
        unlink(path)
        mkfifo(path, 0o666)
        _ = try FileLock(at: path)
    }
}

@Suite("The event loop", .timeLimit(.minutes(1))) struct EventLoopTests {
    @Test("work from another thread runs on the loop, all of it and in order")
    func order() async {
        let seen = Seen<Int>()
        for number in 0..<10_000 {
            EventLoop.perform { seen.append(number) }
        }
        await EventLoop.run {}
        #expect(seen.all == Array(0..<10_000))
    }

    @Test("no wake-up is lost between threads that hand work to one another")
    func wakeUps() async {
        for _ in 0..<20_000 { await EventLoop.run {} }
    }

    @Test("nothing comes between a task on the loop and the functions of the loop that it calls")
    @EventLoop func staysOnTheLoop() async {
        let seen = Seen<String>()
        // Unstructured: a job that waits for the loop while this one runs.
        let other = Task { @EventLoop in seen.append("other") }
        await continuation(of: seen)
        await other.value
        #expect(seen.all == ["continuation", "after", "other"])
    }

    @EventLoop private func continuation(of seen: Seen<String>) async {
        if seen.all.isEmpty {
            await withCheckedContinuation { continuation in
                seen.append("continuation")
                continuation.resume()
            }
        }
        seen.append("after")
    }

    @Test("what is put off to the end of the turn runs once the jobs before it have run")
    func endOfTurn() async {
        let seen = Seen<String>()
        await withCheckedContinuation { continuation in
            EventLoop.perform {
                EventLoop.atEndOfTurn {
                    seen.append("end")
                    continuation.resume()
                }
                seen.append("first")
            }
        }
        #expect(seen.all == ["first", "end"])
    }

    @Test("timers fire in the order of their times, and a time can be moved")
    func timers() async throws {
        let fired = Seen<String>()
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            EventLoop.perform {
                do {
                    let late = try TimerSource {
                        fired.append("late")
                        continuation.resume()
                    }
                    // The late one is moved far away, and back once the early one has fired, however slow the machine is.
                    let early = try TimerSource {
                        fired.append("early")
                        late.schedule(after: .zero)
                    }
                    late.schedule(after: .zero)
                    late.schedule(after: .seconds(3600))
                    early.schedule(after: .milliseconds(1))
                    EventLoopTests.keep.withLock { $0 += [late, early] }
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        }
        #expect(fired.all == ["early", "late"])
    }

    @Test("a time that nobody lives to see does not come at once")
    func farTimer() async throws {
        let fired = Seen<String>()
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            EventLoop.perform {
                do {
                    let far = try TimerSource { fired.append("far") }
                    let near = try TimerSource { continuation.resume() }
                    // A time in the past, which a time that cannot be set would leave in its place.
                    far.schedule(after: .zero)
                    far.schedule(after: .microseconds(Int64.max))
                    far.schedule(after: .seconds(Int64.max))
                    near.schedule(after: .milliseconds(1))
                    EventLoopTests.keep.withLock { $0 += [far, near] }
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        }
        #expect(fired.all == [])
    }

    /// Timers of tests, which have to live until they fire.
    private static let keep = Mutex<[TimerSource]>([])
}

/// What happened, in order, from whatever thread.
private final class Seen<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])
    var all: [Element] { elements.withLock { $0 } }
    func append(_ element: Element) { elements.withLock { $0.append(element) } }
}
