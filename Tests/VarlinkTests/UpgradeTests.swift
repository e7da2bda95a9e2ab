// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import Testing

@testable import Varlink

@Suite("Upgrades by the client", .timeLimit(.minutes(1)))
struct UpgradeTests {
    @Test("An upgrade hands over the socket with what came after the reply, and the connection is Varlink's no more")
    func upgrades() async throws {
        let (connection, service) = try await scripted()
        // Unstructured, since the service answers meanwhile.
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

    @Test("An upgrade that fails leaves a connection that can be used")
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

    @Test("A cancelled upgrade that the service makes closes the connection")
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
