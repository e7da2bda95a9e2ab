// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import Testing

@testable import Varlink

@Suite("The life of a service", .timeLimit(.minutes(5)))
struct ServiceTests {
    /// Runs a service until `body` returns; `body` can cancel its task and wait for it.
    private func run(
        limits: VarlinkService.Limits = VarlinkService.Limits(), drainTime: Duration = .seconds(20),
        listeners: [OwnedDescriptor] = [], _ body: (Harness, Task<Void, any Error>) async throws -> Void
    ) async throws {
        var limits = limits
        limits.drainTime = drainTime
        let harness = try await Harness.make(limits: limits, listeners: listeners)
        // Unstructured, because the test checks the service before and after its end.
        let running = Task { try await harness.service.run() }
        defer { running.cancel() }
        try await body(harness, running)
    }

    @Test("it serves clients that connect to its listening socket, and none once it has ended")
    func listens() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/socket"
            let listener = try UnixSocket.listen(at: path, mode: 0o600)
            try await run(listeners: [listener]) { harness, running in
                // It connects before the service accepts, so it waits.
                let client = try await RawClient(path: path)
                await client.send(Call.echo("x"))
                #expect(await client.receive() == Call.echoReply("x"))
                let connection = try await VarlinkConnection.connect(to: .path(path), timeout: .seconds(600))
                let reply = try await connection.call(
                    "org.example.test.Echo", { $0.member("text", "y") }, returning: [String: String].self)
                #expect(reply == ["text": "y"])
                running.cancel()
                #expect(await client.seesEnd())
                try await running.value
                #expect(await harness.service.connectionCount == 0)
            }
        }
    }

    @Test("answers from before the end are sent, however slowly they are read")
    func sendsWhatWasAnswered() async throws {
        try await run { harness, running in
            let client = await harness.client()
            await client.send(Call.call("Fill", #"{"count":3000000}"#))
            await harness.settle()
            running.cancel()
            #expect(await client.receive()?.utf8.count == 3_000_000 + #"{"parameters":{"text":""}}"#.utf8.count)
            #expect(await client.seesEnd())
            try await running.value
        }
    }

    @Test("answers from before the end are sent, even if the call behind them gets none")
    func sendsWhatWasAnsweredBefore() async throws {
        var limits = VarlinkService.Limits()
        limits.maximumUnsentBytes = 4_000_000
        try await run(limits: limits) { harness, running in
            let client = await harness.client()
            await client.send(Call.call("Fill", #"{"count":3000000}"#), Call.call("HangUp"))
            await harness.interface.waiting.wait()
            running.cancel()
            await harness.interface.ended.wait()
            #expect(await client.receive()?.utf8.count == 3_000_000 + #"{"parameters":{"text":""}}"#.utf8.count)
            #expect(await client.seesEnd())
            try await running.value
        }
    }

    @Test("streams write their last replies, and are closed")
    func endsStreams() async throws {
        try await run { harness, running in
            let client = await harness.client()
            await client.send(Call.call("Count", #"{"count":2000,"size":1000}"#, "more"))
            await harness.settle()
            running.cancel()
            #expect(await client.receive(2_000).count == 2_000)
            #expect(await client.seesEnd())
            try await running.value
            #expect(await harness.interface.closed == 1)
        }
    }

    @Test("running calls are cancelled, and their answers are sent")
    func cancelsWhatIsPerformed() async throws {
        try await run { harness, running in
            let client = await harness.client()
            await client.send(Call.call("Wait"), Call.echo("too late"))
            await harness.interface.waiting.wait()
            running.cancel()
            await harness.interface.cancelled.wait()
            #expect(await client.receive() == #"{"parameters":{}}"#)
            #expect(await client.seesEnd())
            try await running.value
            #expect(await harness.interface.echoed == [])
        }
    }

    @Test("a client that does not read delays the end only for a limited time")
    func cutsOffSlowReaders() async throws {
        try await run(drainTime: .milliseconds(1)) { harness, running in
            let answered = await harness.client()
            await answered.send(Call.call("Fill", #"{"count":3000000}"#))
            let streaming = await harness.client()
            await streaming.send(Call.call("Count", #"{"size":1000}"#, "more"))
            await harness.settle()
            running.cancel()
            try await running.value
            #expect(await harness.service.connectionCount == 0)
            #expect(await harness.interface.closed == 1)
        }
    }

    @Test("without clients it ends at once")
    func endsIdle() async throws {
        try await run { _, running in
            running.cancel()
            try await running.value
        }
    }
}
