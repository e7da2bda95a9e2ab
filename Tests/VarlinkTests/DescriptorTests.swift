// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import Testing

@testable import Varlink

@Suite("Descriptors that clients send", .timeLimit(.minutes(5)))
struct DescriptorTests {
    /// Makes `body` send the writing end of a pipe, which this side then closes; returns whether the other side also
    /// closes it.
    private func isClosed(_ body: (OwnedDescriptor) async throws -> Void) async throws -> Bool {
        var (reading, writing): (OwnedDescriptor, OwnedDescriptor?) = try #require(OwnedDescriptor.makePipe())
        try await body(try #require(writing))
        writing = nil
        await RawClient.wait(reading.rawValue, .readable)
        var byte: UInt8 = 0
        return read(reading.rawValue, &byte, 1) == 0
    }

    @Test("they are closed, and so is the connection, without an answer", arguments: ["", "{", #"{"method":"#])
    func refused(before: String) async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            let socket = client.descriptor
            let isClosed = try await isClosed { writing in
                let rest = String("\(Call.echo("x"))\0".dropFirst(before.count))
                await EventLoop.run {
                    if !before.isEmpty { _ = RawClient.sendWhatFits(Array(before.utf8)[...], to: socket) }
                    #expect(RawClient.send(rest, with: writing, to: socket))
                }
                #expect(await client.seesEnd())
            }
            #expect(isClosed)
        }
    }

    @Test("they are closed even if the service stopped reading before them")
    func unread() async throws {
        var limits = VarlinkService.Limits()
        limits.maximumUnsentBytes = 1
        try await Harness.run(limits: limits) { harness in
            let client = await harness.client()
            let isClosed = try await isClosed { writing in
                // More than a Unix socket holds, so that the service stops reading.
                await client.send(Call.call("Fill", #"{"count":1000000}"#))
                await harness.settle()
                #expect(RawClient.send("{", with: writing, to: client.descriptor))
                await harness.settle()
                client.close()
            }
            #expect(isClosed)
        }
    }

    @Test("a listener that passes credentials, as a socket unit may set, changes nothing")
    func credentials() async throws {
        let name = "org.example.test.\(getpid()).credentials"
        let listener = try UnixSocket.listen(atAbstract: name)
        var on: Int32 = 1
        #expect(
            setsockopt(listener.rawValue, SOL_SOCKET, SO_PASSCRED, &on, socklen_t(MemoryLayout<Int32>.size)) == 0)
        try await Harness.run(listeners: [listener]) { _ in
            let connection = try await VarlinkConnection.connect(to: .abstract(name), timeout: .seconds(600))
            #expect(try await echo(connection, "x") == "x")
        }
    }
}
