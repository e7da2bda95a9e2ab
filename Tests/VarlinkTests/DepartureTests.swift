// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import Testing

@testable import Varlink

@Suite("Clients that leave", .timeLimit(.minutes(5)))
struct DepartureTests {
    @Test("a client that has closed its sending side still gets the answers to its calls")
    func answersAfterHalfClose() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await client.send(Call.call("Wait"), Call.echo("behind"))
            client.shutDown(SHUT_WR)
            await harness.interface.waiting.wait()
            await harness.settle()
            await harness.interface.release.fire()
            #expect(await client.receive(2) == [#"{"parameters":{}}"#, Call.echoReply("behind")])
            #expect(await client.seesEnd())
        }
    }

    @Test("a stream continues for a client that has closed its sending side, until it leaves")
    func streamsAfterHalfClose() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await client.send(Call.call("Count", #"{"size":1000}"#, "more"))
            client.shutDown(SHUT_WR)
            #expect(await client.receive(1_000).count == 1_000)
            client.close()
            await harness.interface.streamClosed.wait()
            await harness.becomesEmpty()
        }
    }

    @Test("a client that leaves cancels its running calls")
    func cancels() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await client.send(Call.call("Wait"))
            await harness.interface.waiting.wait()
            client.close()
            await harness.interface.cancelled.wait()
        }
    }

    @Test("after a client has left, only those of its calls that may change something are handled")
    func skipsWhatOnlyReads() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await client.send(Call.call("Fill", #"{"count":1}"#), Call.call("Wait"))
            await harness.interface.waiting.wait()
            #expect(await harness.interface.filled == 1)
            await client.send(Call.call("Fill", #"{"count":1}"#), Call.echo("end"))
            client.close()
            while await harness.interface.echoed != ["end"] { await EventLoop.run {} }
            #expect(await harness.interface.filled == 1)
        }
    }

    @Test("a client that leaves closes its stream, once")
    func closesStreams() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await client.send(Call.call("Count", #"{"count":1}"#, "more"))
            _ = await client.receive()
            client.close()
            await harness.interface.streamClosed.wait()
            await EventLoop.run { harness.interface.stream?.finish() }
            await EventLoop.run { harness.interface.stream?.fail(.service(.expectedMore)) }
            await harness.settle()
            #expect(await harness.interface.closed == 1)
            #expect(await harness.interface.stream?.isClosed == true)
        }
    }

    @Test("a client's last call is handled even if it leaves at once")
    func handlesWhatWasSent() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await client.send(
                Call.call("Echo", #"{"text":"oneway"}"#, "oneway"), Call.call("Wait"), Call.echo("behind"))
            client.close()
            await harness.becomesEmpty()
            let echoed = await harness.interface.echoed.filter { $0 != "x" }
            #expect(echoed == ["oneway", "behind"])
        }
    }

    @Test("all calls that a client sent before it left are handled, even if an earlier call gets no answer")
    func handlesMuch() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await client.send(Call.call("HangUp"))
            await harness.interface.waiting.wait()
            let text = String(repeating: "y", count: 100)
            let call = Array(Call.call("Echo", #"{"text":"\#(text)"}"#, "oneway").utf8) + [0]
            await client.send(bytes: Array(repeating: call, count: 500).flatMap { $0 })
            await client.send(Call.echo("end"))
            client.close()
            await harness.interface.cancelled.wait()
            await harness.becomesEmpty()
            #expect(await harness.interface.echoed.contains("end"))
        }
    }

    @Test("calls that a client sends before it leaves are handled, even while earlier ones are still being received")
    func handlesWhatFollows() async throws {
        try await Harness.run { harness in
            for number in 100..<200 {
                let client = await harness.client()
                await client.send(Call.call("Echo", #"{"text":"a\#(number)"}"#, "oneway"))
                while await harness.interface.echoed.last != "a\(number)" { await EventLoop.run {} }
                await client.send(Call.call("Echo", #"{"text":"b\#(number)"}"#, "oneway"))
                client.close()
                await harness.becomesEmpty()
                #expect(await harness.interface.echoed.contains("b\(number)"))
            }
        }
    }

    @Test("a slow oneway call does not delay the calls behind it, and continues when its client leaves")
    func endsOneway() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await client.send(Call.call("Wait", "{}", "oneway"), Call.call("Echo", #"{"text":"behind"}"#, "oneway"))
            await harness.interface.waiting.wait()
            while await !harness.interface.echoed.contains("behind") { await EventLoop.run {} }
            client.close()
            await harness.becomesEmpty()
            await harness.interface.release.fire()
            await harness.interface.ended.wait()
        }
    }

    @Test("the calls of a client that has closed its receiving side are handled without delay")
    func hearsTheDeaf() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            client.shutDown(SHUT_RD)
            await client.send(
                Call.echo("unread"), Call.call("Echo", #"{"text":"oneway"}"#, "oneway"),
                Call.call("Count", "{}", "more"))
            await harness.interface.streamClosed.wait()
            await client.send(Call.call("Echo", #"{"text":"later"}"#, "oneway"))
            while await !harness.interface.echoed.contains("later") { await harness.settle() }
            #expect(await harness.interface.echoed.prefix(2) == ["unread", "oneway"])
            client.close()
            await harness.becomesEmpty()
        }
    }

    @Test("a call that can no longer be answered ends its connection instead of holding it forever")
    func noticesForgottenCalls() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await client.send(Call.call("Forget"), Call.echo("behind"))
            #expect(await client.seesEnd())
        }
    }
}
