// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import Testing

@testable import Varlink

@Suite("Upgrades to another protocol, by the client", .timeLimit(.minutes(1)))
struct UpgradeTests {
    @Test(
        "An upgrade hands over the socket with the bytes behind the reply, and the connection no longer speaks Varlink")
    func upgrades() async throws {
        let (connection, service) = try await scripted()
        // Unstructured, because the service answers meanwhile.
        let call = Task { try await connection.upgrade("org.example.test.Upgrade", returning: NumberReply.self) }
        #expect(await service.receive() == #"{"method":"org.example.test.Upgrade","parameters":{},"upgrade":true}"#)
        await service.send(bytes: Array("{\"parameters\":{\"number\":7}}\0raw\0".utf8))
        let (reply, upgraded) = try await call.value
        #expect(reply.number == 7)
        #expect(upgraded.bytes == Array("raw\0".utf8))
        await #expect(throws: VarlinkClientError.upgraded) { try await echo(connection, "x") }
        await connection.close()
        #expect(send(upgraded.descriptor.rawValue, "more\0", 5, 0) == 5)
        #expect(await service.receive() == "more")
    }

    @Test("A failed upgrade leaves a connection that can be used")
    func failsToUpgrade() async throws {
        let (connection, service) = try await scripted()
        let call = Task { try await connection.upgrade("org.example.test.Upgrade", returning: NumberReply.self) }
        _ = await service.receive()
        await #expect(throws: VarlinkClientError.upgraded) { try await echo(connection, "x") }
        await service.send(#"{"error":"org.example.test.No"}"#)
        await #expect(throws: VarlinkError.self) { try await call.value }
        async let next = echo(connection, "next")
        _ = await service.receive()
        await service.send(Call.echoReply("next"))
        #expect(try await next == "next")
    }

    @Test("Cancelling an upgrade that the service accepts closes the connection")
    func cancelsUpgrade() async throws {
        let (connection, service) = try await scripted()
        let call = Task { try await connection.upgrade("org.example.test.Upgrade", returning: NumberReply.self) }
        _ = await service.receive()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        await service.send(#"{"parameters":{"number":7}}"#)
        #expect(await service.seesEnd())
    }
}

@Suite("Upgrades to another protocol, by the service", .timeLimit(.minutes(1)))
struct ServiceUpgradeTests {
    /// A client of an ordinary user, on whose connection other threads work, and one of a preferred user.
    static let preferredUsers: [Set<UInt32>] = [[], [geteuid()]]

    private func handedOver(_ harness: Harness) async throws -> UpgradedConnection {
        await harness.interface.handedOver.wait()
        return try #require(await harness.interface.upgraded)
    }

    /// All bytes from an upgraded connection, up to this many.
    private func read(_ count: Int, from connection: UpgradedConnection) async -> String {
        let client = RawClient(adopting: dup(connection.descriptor.rawValue))
        return String(
            decoding: connection.bytes + (await client.receiveBytes(count - connection.bytes.count)), as: UTF8.self)
    }

    @Test("Both sides speak the other protocol after the reply", arguments: preferredUsers)
    func bothSides(preferredUsers: Set<UInt32>) async throws {
        try await Harness.run(preferredUsers: preferredUsers) { harness in
            let connection = try await harness.connection()
            let (reply, ours) = try await connection.upgrade(
                "org.example.test.Upgrade", { $0.member("count", 3) }, returning: [String: String].self)
            #expect(reply == ["text": "xxx"] && ours.bytes.isEmpty)
            let theirs = try await handedOver(harness)
            #expect(await harness.service.connectionCount == 0)
            #expect(send(ours.descriptor.rawValue, "ping", 4, 0) == 4)
            #expect(await read(4, from: theirs) == "ping")
            #expect(send(theirs.descriptor.rawValue, "pong", 4, 0) == 4)
            #expect(await read(4, from: ours) == "pong")
        }
    }

    @Test(
        "Bytes that the client sends right behind its call are handed over, and none of them twice",
        arguments: preferredUsers
    )
    func sentBehind(preferredUsers: Set<UInt32>) async throws {
        try await Harness.run(preferredUsers: preferredUsers) { harness in
            let client = await harness.client()
            await client.send(bytes: Array("\(Call.call("Upgrade", "{}", "upgrade"))\0{\0raw".utf8))
            #expect(await client.receive() == Call.echoReply(""))
            let connection = try await handedOver(harness)
            #expect(connection.bytes == Array("{\0raw".utf8))
            await client.send(bytes: Array("more".utf8))
            #expect(await read(9, from: connection) == "{\0rawmore")
            #expect(await harness.interface.echoed.isEmpty)
        }
    }

    @Test("A connection is handed over once its client has read the whole reply", arguments: preferredUsers)
    func longReply(preferredUsers: Set<UInt32>) async throws {
        try await Harness.run(preferredUsers: preferredUsers) { harness in
            let client = await harness.client()
            await client.send(bytes: Array("\(Call.call("Upgrade", #"{"count":3000000}"#, "upgrade"))\0first".utf8))
            await harness.settle()
            await client.send(bytes: Array("second".utf8))
            await harness.settle()
            #expect(await harness.interface.upgraded == nil)
            #expect(await client.receive()?.utf8.count == Call.echoReply("").utf8.count + 3_000_000)
            let connection = try await handedOver(harness)
            #expect(await read(11, from: connection) == "firstsecond")
            client.close()
        }
    }

    @Test("Bytes that a client sent before it left are handed over", arguments: preferredUsers)
    func departed(preferredUsers: Set<UInt32>) async throws {
        try await Harness.run(preferredUsers: preferredUsers) { harness in
            let client = await harness.client()
            await client.send(bytes: Array("\(Call.call("Upgrade", #"{"count":3000000}"#, "upgrade"))\0first".utf8))
            await harness.settle()
            await client.send(bytes: Array("second".utf8))
            client.close()
            let connection = try await handedOver(harness)
            #expect(await read(.max, from: connection) == "firstsecond")
        }
    }

    @Test("A call that is handled after its client has left hands over what came behind it", arguments: preferredUsers)
    func handledAfterDeparture(preferredUsers: Set<UInt32>) async throws {
        try await Harness.run(preferredUsers: preferredUsers) { harness in
            let client = await harness.client()
            await client.send(bytes: Array("\(Call.call("Wait"))\0\(Call.call("Upgrade", "{}", "upgrade"))\0raw".utf8))
            await harness.interface.waiting.wait()
            client.close()
            let connection = try await handedOver(harness)
            #expect(await read(.max, from: connection) == "raw")
        }
    }

    @Test("A client that leaves before its call is answered is not handed over", arguments: preferredUsers)
    func departedBeforeAnswer(preferredUsers: Set<UInt32>) async throws {
        try await Harness.run(preferredUsers: preferredUsers) { harness in
            let client = await harness.client()
            await client.send(Call.call("UpgradeLater", "{}", "upgrade"))
            await harness.interface.waiting.wait()
            client.close()
            await harness.interface.ended.wait()
            await harness.becomesEmpty()
            #expect(await harness.interface.upgraded == nil)
        }
    }

    @Test("If a method and its call disagree about an upgrade, the client gets an error, and nothing is done")
    func disagree() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await client.send(
                Call.call("Echo", #"{"text":"x"}"#, "upgrade"), Call.call("Nothing", "{}", "upgrade"),
                Call.call("Upgrade"),
                Call.echo("y"))
            #expect(
                await client.receive(4) == [
                    VarlinkError.methodNotImplemented("org.example.test.Echo").text,
                    VarlinkError.methodNotFound("org.example.test.Nothing").text,
                    VarlinkError.invalidParameter("upgrade").text, Call.echoReply("y"),
                ])
            #expect(await harness.interface.echoed == ["y"])
            #expect(await harness.interface.upgraded == nil)
        }
    }
}

extension VarlinkError {
    /// The reply, without its NUL.
    fileprivate var text: String { String(decoding: reply.dropLast(), as: UTF8.self) }
}
