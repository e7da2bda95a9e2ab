// SPDX-License-Identifier: Apache-2.0

import CLinux
import EventLoopIO
import Glibc
import Synchronization
import Testing

@testable import Varlink

// One after another, because all connections together may have only so many waiting descriptors.
@Suite("Descriptors that travel with messages", .serialized, .timeLimit(.minutes(1)))
struct DescriptorTests {
    private typealias Pipe = (reading: OwnedDescriptor, writing: OwnedDescriptor)

    private func pipe() throws -> Pipe { try #require(OwnedDescriptor.makePipe()) }

    /// The module's own client, which may pass descriptors.
    private func connection(_ harness: Harness) async throws -> VarlinkConnection {
        let connection = try await harness.connection()
        try await connection.allowDescriptors()
        return connection
    }

    private func pass(
        _ descriptors: [OwnedDescriptor], _ connection: VarlinkConnection, copies: Int = 1
    ) async throws -> (reply: FilesReply, descriptors: [OwnedDescriptor]) {
        try await connection.call(
            "org.example.test.Pass", { $0.member("count", copies) }, descriptors: descriptors, timeout: nil)
    }

    private static func reply(_ pipes: Pipe...) -> String {
        #"{"parameters":{"files":[\#(pipes.map { "\(inode(of: $0.writing))" }.joined(separator: ","))]}}"#
    }

    /// Makes `body` send the writing end of a pipe, which this side then closes; returns whether the other side closes it, too.
    private func isClosed(_ body: (OwnedDescriptor) async throws -> Void) async throws -> Bool {
        var (reading, writing): (OwnedDescriptor, OwnedDescriptor?) = try pipe()
        try await body(try #require(writing))
        writing = nil
        await RawClient.wait(reading.rawValue, .readable)
        var byte: UInt8 = 0
        return read(reading.rawValue, &byte, 1) == 0
    }

    /// A socket whose close(2) waits so many seconds (SO_LINGER), because its peer does not read; and that peer.
    private func lingering(seconds: Int32) async throws -> (socket: OwnedDescriptor, peer: OwnedDescriptor) {
        let listener = try await TCPSocket.listen(at: "127.0.0.1", port: 0)
        let socket = try await TCPSocket.connect(
            to: "127.0.0.1", port: port(of: listener), timeout: .seconds(10))
        let peer = OwnedDescriptor(adopting: accept(listener.rawValue, nil, nil))
        var linger = Glibc.linger(l_onoff: 1, l_linger: seconds)
        setsockopt(socket.rawValue, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
        // More than both sockets hold.
        let bytes = [UInt8](repeating: 0, count: 32 << 20)
        #expect(RawClient.sendWhatFits(bytes[...], to: socket.rawValue) < bytes.count)
        return (socket, peer)
    }

    @Test("A descriptor that is sent with a call comes back with the reply, and works")
    func roundTrip() async throws {
        try await Harness.run(passesDescriptors: true) { harness in
            let (reading, writing) = try pipe()
            let (reply, descriptors) = try await pass([writing], try await connection(harness))
            #expect(reply.files == [inode(of: writing)])
            let returned = try #require(descriptors.first)
            #expect(descriptors.count == 1 && returned.rawValue != writing.rawValue)
            #expect(fcntl(returned.rawValue, F_GETFD) & FD_CLOEXEC != 0)
            var byte: UInt8 = 7
            #expect(write(returned.rawValue, &byte, 1) == 1)
            byte = 0
            #expect(read(reading.rawValue, &byte, 1) == 1 && byte == 7)
        }
    }

    @Test("Calls that are sent together get the descriptors that were sent with their own first byte")
    func pipelined() async throws {
        try await Harness.run(passesDescriptors: true) { harness in
            let client = await harness.client()
            let socket = client.descriptor
            let (first, second, third) = (try pipe(), try pipe(), try pipe())
            let call = Call.call("Pass", #"{"count":0}"#)
            let messages: [(String, [OwnedDescriptor])] = [
                ("\(Call.echo("x"))\0\(call)\0", []), ("\(call)\0", [first.writing]),
                ("{", [second.writing, third.writing]), ("\(call.dropFirst())\0\(call)\0", []),
                ("\(call)\0\(call)\0", [third.writing]),
            ]
            // On the loop's thread, so that all of them have arrived when it reads.
            let areSent = await EventLoop.run { messages.allSatisfy { RawClient.send($0, $1, to: socket) } }
            #expect(areSent)
            let replies = [
                Call.echoReply("x"), Self.reply(), Self.reply(first), Self.reply(second, third), Self.reply(),
                Self.reply(third), Self.reply(),
            ]
            #expect(await client.receive(7) == replies)
        }
    }

    @Test("Descriptors stay with their message behind output that the socket does not take at once")
    func fullSocket() async throws {
        try await Harness.run(passesDescriptors: true) { harness in
            let connection = try await connection(harness)
            let pipes = try (0..<3).map { _ in try pipe() }
            let text = String(repeating: "x", count: 60_000)
            let replies = try await withThrowingTaskGroup(of: (Int, [Int]).self) { group in
                for (index, pipe) in pipes.enumerated() {
                    for _ in 0..<5 { group.addTask { (-1, try await echo(connection, text) == text ? [] : [0]) } }
                    group.addTask {
                        let (reply, descriptors) = try await pass([pipe.writing], connection)
                        #expect(descriptors.map { inode(of: $0) } == reply.files)
                        return (index, reply.files)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(replies.allSatisfy { $0 == -1 ? $1.isEmpty : $1 == [inode(of: pipes[$0].writing)] })
            #expect(replies.count == 18)
        }
    }

    @Test(
        "A message with descriptors is sent separately, so that other receivers can tell which message they belong to")
    func sendsAlone() async throws {
        let (ours, theirs) = socketPair()
        let peer = OwnedDescriptor(adopting: ours)
        let connection = try await VarlinkConnection(theirs)
        try await connection.allowDescriptors()
        let writing = try pipe().writing
        try await EventLoop.run {
            for descriptors in [[], [writing], []] {
                try connection.callOneway("org.example.test.Pass", descriptors: descriptors)
            }
        }
        await RawClient.wait(peer.rawValue, .readable)
        var buffer = [UInt8](repeating: 0, count: 4096)
        // A read ends behind the bytes that descriptors came with (unix(7)).
        let first = recv(peer.rawValue, &buffer, buffer.count, 0)
        let second = recv(peer.rawValue, &buffer, buffer.count, 0)
        #expect(first == 2 * second)
    }

    @Test("Descriptors that wait for the rest of their messages are limited, and their places are given back")
    func bound() async throws {
        try await Harness.run(passesDescriptors: true) { harness in
            let writing = try pipe().writing
            let many = Array(repeating: writing, count: 253)
            var clients: [RawClient] = []
            var isRefused = false
            while !isRefused, clients.count <= OwnedDescriptor.limit / 253 {
                let client = await harness.client()
                #expect(RawClient.send("{", many, to: client.descriptor))
                clients.append(client)
                await harness.settle()
                var byte: UInt8 = 0
                isRefused = recv(client.descriptor, &byte, 1, Int32(MSG_DONTWAIT)) == 0
            }
            #expect(isRefused && (clients.count - 1) * 253 <= max(253, OwnedDescriptor.limit / 4))
            clients = []
            await harness.becomesEmpty()
            #expect(try await pass(many, try await connection(harness)).reply.files.count == 253)
        }
    }

    @Test(
        "Descriptors in the middle of a message close the connection without an answer, and are closed",
        arguments: ["{", #"{"method":"#, #"{"method":"org.example.test.Missing"}\#0{"#])
    func middle(before: String) async throws {
        let start = before.utf8.lastIndex(of: 0).map { before.utf8.index(after: $0) } ?? before.startIndex
        let rest = Call.echo("x").dropFirst(before[start...].count) + "\0"
        try await Harness.run(passesDescriptors: true) { harness in
            let client = await harness.client()
            let socket = client.descriptor
            let isClosed = try await isClosed { writing in
                await EventLoop.run {
                    #expect(RawClient.send(before, [], to: socket))
                    #expect(RawClient.send(String(rest), [writing], to: socket))
                }
                while let reply = await client.receive() { #expect(reply.contains("Missing")) }
            }
            #expect(isClosed)
        }
    }

    @Test("A service that does not pass descriptors refuses and closes those that arrive")
    func notAllowed() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            let isRefused = try await isClosed { writing in
                #expect(RawClient.send("\(Call.echo("x"))\0", [writing], to: client.descriptor))
                #expect(await client.seesEnd())
            }
            #expect(isRefused)
            let (first, second) = (try await connection(harness), try await connection(harness))
            let writing = try pipe().writing
            await #expect(throws: VarlinkClientError.self) { try await pass([writing], first) }
            #expect(try await pass([], second).descriptors.isEmpty)
        }
    }

    @Test("A client that does not allow descriptors sends none")
    func clientDoesNotAllow() async throws {
        try await Harness.run(passesDescriptors: true) { harness in
            let connection = try await harness.connection()
            let (_, writing) = try pipe()
            let error = await #expect(throws: VarlinkClientError.self) { try await pass([writing], connection) }
            #expect(error?.code == .system)
            #expect(error?.description == "cannot pass descriptors: not allowed on this connection")
            #expect(try await echo(connection, "x") == "x")
        }
    }

    @Test("Unclaimed descriptors are closed, whether they come with a call, a reply or an endless message")
    func leftOvers() async throws {
        try await Harness.run(passesDescriptors: true) { harness in
            let connection = try await connection(harness)
            let isClosedByService = try await isClosed { writing in
                _ = try await connection.call(
                    "org.example.test.Echo", { $0.member("text", "x") }, descriptors: [writing],
                    returning: NoReply.self)
            }
            #expect(isClosedByService)
            let isClosedByBoth = try await isClosed { _ = try await pass([$0], connection) }
            #expect(isClosedByBoth)
            let client = await harness.client()
            let isClosedAtEnd = try await isClosed { writing in
                #expect(RawClient.send("{", [writing], to: client.descriptor))
                await harness.settle()
                client.close()
            }
            #expect(isClosedAtEnd)
        }
    }

    @Test("Releasing a descriptor of another process on the loop does not wait, even if closing it does")
    func lingers() async throws {
        try await Harness.run(passesDescriptors: true) { harness in
            let connection = try await connection(harness)
            let seconds: Int32 = 10
            let (socket, peer) = try await lingering(seconds: seconds)
            let received = Mutex(try await pass([consume socket], connection).descriptors)
            let begin = ContinuousClock.now
            await EventLoop.run { received.withLock { $0 = [] } }
            #expect(ContinuousClock.now - begin < .seconds(Int(seconds)))
            withExtendedLifetime(peer) {}
        }
    }

    @Test("A listener that passes credentials, as a socket unit may set, changes nothing", arguments: [false, true])
    func credentials(passesDescriptors: Bool) async throws {
        let name = "org.example.test.\(getpid()).\(passesDescriptors)"
        let listener = try UnixSocket.listen(atAbstract: name)
        #expect(linux_pass_credentials(listener.rawValue) == 0)
        try await Harness.run(listeners: [listener], passesDescriptors: passesDescriptors) { _ in
            let connection = try await VarlinkConnection.connect(to: .abstract(name))
            #expect(try await echo(connection, "x") == "x")
            guard passesDescriptors else { return }
            try await connection.allowDescriptors()
            #expect(try await pass([try pipe().writing], connection).descriptors.count == 1)
        }
    }

    @Test("A message has at most 253 descriptors, the kernel's limit")
    func tooMany() async throws {
        try await Harness.run(passesDescriptors: true) { harness in
            let connection = try await connection(harness)
            let (_, writing) = try pipe()
            let many = Array(repeating: writing, count: 254)
            await #expect(throws: VarlinkClientError.self) { try await pass(many, connection) }
            let error = await #expect(throws: VarlinkError.self) { try await pass([writing], connection, copies: 254) }
            #expect(error?.text("reason") == "cannot pass 254 descriptors: a message has at most 253")
            #expect(try await pass([writing], connection, copies: 253).descriptors.count == 253)
            #expect(try await pass(many.dropLast(), connection).descriptors.count == 253)
        }
    }

    @Test("Descriptors cannot be passed over an internet socket, and both sides say so")
    func internet() async throws {
        let listener = try await TCPSocket.listen(at: "127.0.0.1", port: 0)
        let port = port(of: listener)
        try await Harness.run(listeners: [listener], passesDescriptors: true) { _ in
            let connection = try await VarlinkConnection.connect(to: .tcp(host: "127.0.0.1", port: port))
            let error = await #expect(throws: VarlinkClientError.self) { try await connection.allowDescriptors() }
            #expect(error?.description == "cannot pass descriptors: the connection is not over a Unix socket")
            #expect(try await echo(connection, "x") == "x")
        }
    }
}
