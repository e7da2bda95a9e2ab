// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Testing

@testable import Varlink

@Suite("The protocol", .timeLimit(.minutes(5)))
struct ProtocolTests {
    @Test("a call is answered")
    func answers() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await client.send(Call.echo("hello"))
            #expect(await client.receive() == Call.echoReply("hello"))
        }
    }

    @Test("a method's name may be written with escapes")
    func decodesNames() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await client.send(#"{"\u006dethod":"\u006frg.example.test.\u0045cho","parameters":{"te\u0078t":"x"}}"#)
            #expect(await client.receive() == Call.echoReply("x"))
        }
    }

    @Test("a call that arrives byte by byte is answered like any other")
    func takesSingleBytes() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            for byte in Array(Call.echo("ä").utf8) + [0] {
                await client.send(bytes: [byte])
                await EventLoop.run {}
            }
            #expect(await client.receive() == Call.echoReply("ä"))
        }
    }

    @Test("messages are the same wherever the received bytes are split")
    func cutsAnywhere() {
        let messages = [Call.echo("one"), "", Call.echo(String(repeating: "long", count: 10_000)), "{}"]
        let bytes: [UInt8] = messages.flatMap { Array($0.utf8) + [0] }
        for cut in Set(Array(0...300) + Array(stride(from: 300, to: bytes.count, by: 997))) {
            var input = MessageInput()
            var taken: [String] = []
            for part in [bytes[..<cut], bytes[cut...]] {
                var rest = part
                while !rest.isEmpty {
                    let room = input.room()
                    let next = rest.prefix(room.count)
                    room.copyBytes(from: next)
                    input.add(next.count)
                    rest = rest.dropFirst(next.count)
                    while let message = input.takeMessage() { taken.append(String(decoding: message, as: UTF8.self)) }
                }
            }
            #expect(taken == messages)
            #expect(input.count == 0)
        }
    }

    @Test("calls sent together are answered one by one, in order")
    func pipelines() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            let texts = (0..<2_000).map { "call \($0)" }
            await client.send(bytes: texts.flatMap { Array(Call.echo($0).utf8) + [0] })
            #expect(await client.receive(texts.count) == texts.map(Call.echoReply))
        }
    }

    @Test("a call that its handler keeps is unchanged, whatever calls follow it")
    func keepsCalls() async throws {
        try await Harness.run { harness in
            await EventLoop.run { harness.interface.keepsCalls = true }
            let client = await harness.client()
            await client.send(Call.echo("a"), Call.call("Fail", "{}", "oneway"), Call.echo("b"))
            #expect(await client.receive() == Call.echoReply("a"))
            #expect(await client.receive() == Call.echoReply("b"))
            let kept = await EventLoop.run { harness.interface.keptCalls.map(\.method) }
            #expect(kept == ["Echo", "Fail", "Echo"])
        }
    }

    @Test("a call that is answered later delays the calls behind it, but no other connection's")
    func keepsOrder() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await client.send(Call.call("Wait"), Call.echo("second"), Call.call("Wait"), Call.echo("fourth"))
            await harness.interface.waiting.wait()
            await harness.settle()
            #expect(await !harness.interface.echoed.contains("second"))
            await harness.interface.release.fire()
            #expect(await client.receive(2) == [#"{"parameters":{}}"#, Call.echoReply("second")])
            await harness.interface.waiting.wait()
            await harness.interface.release.fire()
            #expect(await client.receive(2) == [#"{"parameters":{}}"#, Call.echoReply("fourth")])
        }
    }

    @Test("a oneway call is never answered, not even with an error")
    func answersNoOneway() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await client.send(
                Call.call("Echo", #"{"text":"unheard"}"#, "oneway"), Call.call("Fail", "{}", "oneway"),
                Call.call("Unknown", "{}", "oneway"), Call.call("Echo", "{}", "oneway"),
                Call.call("Forget", "{}", "oneway"), Call.echo("heard"))
            #expect(await client.receive() == Call.echoReply("heard"))
            #expect(await harness.interface.echoed == ["unheard", "heard"])
        }
    }

    @Test(
        "a broken oneway call closes the connection, also if the last one had the same bytes around its parameters",
        arguments: [
            #"{"text":"broken"}}"#, #"{"text":"broken"},"more":{}"#, #"{"text":"broken"} {}"#, #"{"text":"broken"#,
            #"{"text":"broken"}"} x {"#, "{", #"{"text":"\ud800"}"#,
        ])
    func checksRepeatedCalls(parameters: String) async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await client.send(
                Call.call("Echo", #"{"text":"first"}"#, "oneway"), Call.call("Echo", #"{"text":"second"}"#, "oneway"),
                Call.call("Echo", parameters, "oneway"), Call.echo("last"))
            #expect(await client.seesEnd())
            #expect(await harness.interface.echoed == ["first", "second"])
        }
    }

    @Test("a call that is no longer oneway is answered, even if only its end differs from the last call")
    func comparesEnds() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            let oneway = Call.call("Echo", #"{"text":"a"}"#, "oneway")
            await client.send(oneway, oneway.replacing("true", with: "null"))
            #expect(await client.receive() == Call.echoReply("a"))
        }
    }

    @Test("a repeated oneway call that is never answered does not stop the calls behind it")
    func forgetsRepeated() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await client.send(
                Call.call("Echo", #"{"text":"a"}"#, "oneway"), Call.call("Echo", #"{"text":"forget"}"#, "oneway"),
                Call.echo("behind"))
            #expect(await client.receive() == Call.echoReply("behind"))
        }
    }

    @Test("repeated oneway calls are different calls for a handler that keeps them")
    func keepsRepeated() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await EventLoop.run { harness.interface.keepsCalls = true }
            let oneway = Call.call("Echo", #"{"text":"a"}"#, "oneway")
            await client.send(oneway, oneway, oneway, Call.echo("last"))
            #expect(await client.receive() == Call.echoReply("last"))
            #expect(await Set(harness.interface.keptCalls.map { ObjectIdentifier($0) }).count == 4)
        }
    }

    @Test("a stream whose producer wakes it continues, although the producer had nothing to write")
    func wakesItself() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await client.send(Call.call("Count", #"{"count":3,"size":-2}"#, "more"))
            #expect(await client.receive(3).count == 3)
        }
    }

    @Test("of members with the same name, the last one counts, also in a repeated call")
    func repeatsMembers() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await client.send(
                Call.call("Echo", #"{"text":"first"}"#, "oneway"),
                Call.call("Echo", #"{"text":"a"},"parameters":{"text":"b"}"#, "oneway"), Call.echo("last"))
            #expect(await client.receive() == Call.echoReply("last"))
            #expect(await harness.interface.echoed == ["first", "b", "last"])
        }
    }

    @Test(
        "parameters that are absent, null or empty are the same",
        arguments: ["", #","parameters":null"#, #","parameters":{}"#])
    func takesNoParameters(member: String) async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await client.send(
                #"{"method":"org.example.test.Fill"\#(member)}"#, #"{"method":"org.example.test.Echo"\#(member)}"#)
            #expect(await client.receive() == #"{"parameters":{"text":""}}"#)
            #expect(await client.receive() == Self.error("InvalidParameter", "parameter", "text"))
        }
    }

    @Test("a method that streams answers a call without more with ExpectedMore")
    func expectsMore() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await client.send(Call.call("Count"))
            #expect(await client.receive() == #"{"error":"org.varlink.service.ExpectedMore","parameters":{}}"#)
        }
    }

    @Test("each reply of a stream but the last continues")
    func streams() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await client.send(Call.call("Count", #"{"count":3}"#, "more"), Call.echo("after"))
            #expect(
                await client.receive(3) == (1...3).map { #"{"parameters":{"number":\#($0)},"continues":true}"# })
            await EventLoop.run { harness.interface.stream?.finish { $0.member("number", 4) } }
            #expect(await client.receive() == #"{"parameters":{"number":4}}"#)
            #expect(await client.receive() == Call.echoReply("after"))
            #expect(await harness.interface.closed == 1)
        }
    }

    @Test("pending replies are written before the last one")
    func finishesBehindWhatIsLeft() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await client.send(Call.call("Count", #"{"count":400,"size":10000}"#, "more"))
            _ = await client.receive()
            await EventLoop.run { harness.interface.stream?.finish { $0.member("number", 0) } }
            let replies = await client.receive(400)
            #expect(replies.filter { $0.hasSuffix(#","continues":true}"#) }.count == 399)
            #expect(replies.last == #"{"parameters":{"number":0}}"#)
        }
    }

    @Test("an error ends a stream, and does not continue it")
    func failsStreams() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await client.send(Call.call("Count", #"{"count":1}"#, "more"), Call.echo("after"))
            _ = await client.receive()
            await EventLoop.run { harness.interface.stream?.fail(VarlinkError("org.example.test.Failed")) }
            #expect(await client.receive() == #"{"error":"org.example.test.Failed","parameters":{}}"#)
            #expect(await client.receive() == Call.echoReply("after"))
            #expect(await harness.interface.closed == 1)
        }
    }

    private static let describeOther =
        #"{"method":"org.varlink.service.GetInterfaceDescription","#
        + #""parameters":{"interface":"org.example.other"}}"#

    static func error(_ name: String, _ parameter: String, _ value: String) -> String {
        #"{"error":"org.varlink.service.\#(name)","parameters":{"\#(parameter)":"\#(value)"}}"#
    }

    @Test(
        "each standard error comes with its parameter",
        arguments: [
            (Call.call("Nothing"), error("MethodNotFound", "method", "org.example.test.Nothing")),
            (Call.call("Missing"), error("MethodNotImplemented", "method", "org.example.test.Missing")),
            (
                Call.call("Echo", #"{"text":"x"}"#, "upgrade"),
                error("MethodNotImplemented", "method", "org.example.test.Echo")
            ),
            (#"{"method":"org.example.other.Echo"}"#, error("InterfaceNotFound", "interface", "org.example.other")),
            (#"{"method":"Echo"}"#, error("InterfaceNotFound", "interface", "Echo")),
            (#"{"method":""}"#, error("InterfaceNotFound", "interface", "")),
            (Call.call("Echo"), error("InvalidParameter", "parameter", "text")),
            (Call.call("Echo", #"{"text":1}"#), error("InvalidParameter", "parameter", "text")),
            (Call.call("Echo", #"{"text":"x","other":1}"#), error("InvalidParameter", "parameter", "other")),
            (Call.call("Fill", #"{"count":1.5}"#), error("InvalidParameter", "parameter", "count")),
            (Call.call("Fill", #"{"count":99999999999999999999}"#), error("InvalidParameter", "parameter", "count")),
            (
                #"{"method":"org.varlink.service.GetInfo","parameters":{"a":1}}"#,
                error("InvalidParameter", "parameter", "a")
            ),
            (
                describeOther,
                error("InterfaceNotFound", "interface", "org.example.other")
            ),
            (
                #"{"method":"org.varlink.service.GetInterfaceDescription"}"#,
                error("InvalidParameter", "parameter", "interface")
            ),
        ])
    func answersErrors(call: String, reply: String) async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await client.send(call, Call.echo("still there"))
            #expect(await client.receive(2) == [reply, Call.echoReply("still there")])
        }
    }

    @Test(
        "anything that is not a call closes its connection, and only that one",
        arguments: [
            "", "x", "null", "[]", "{}", "{", #"{"method":1}"#, #"{"method":null}"#, #"{"parameters":{}}"#,
            #"{"method":"org.example.test.Echo","parameters":[]}"#,
            #"{"method":"org.example.test.Echo","parameters":"x"}"#,
            #"{"method":"org.example.test.Echo","other":1}"#, #"{"method":"org.example.test.Fill","more":1}"#,
            #"{"method":"org.example.test.Fill","more":true,"oneway":true}"#,
            #"{"method":"org.example.test.Fill","oneway":true,"upgrade":true}"#,
            #"{"method":"org.example.test.Fill"} {}"#, #"{"method":"org.example.test.Fill",}"#,
            #"{"method":"org.example.test.Echo","parameters":{"text":"\ud800"}}"#,
            String(repeating: "[", count: 100), String(repeating: #"{"a":"#, count: 100),
        ])
    func closesOnOtherThings(message: String) async throws {
        try await Harness.run { harness in
            let other = await harness.client()
            let client = await harness.client()
            await client.send(Call.echo("before"), message, Call.echo("after"))
            #expect(await client.receive() == Call.echoReply("before"))
            #expect(await client.seesEnd())
            await other.send(Call.echo("other"))
            #expect(await other.receive() == Call.echoReply("other"))
        }
    }

    @Test("a service names itself and describes its interfaces word for word")
    func introspects() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await client.send(#"{"method":"org.varlink.service.GetInfo"}"#)
            #expect(
                await client.receive()
                    == #"{"parameters":{"vendor":"Example","product":"test","version":"1","#
                    + #""url":"https://example.org/","interfaces":["org.example.test","org.varlink.service"]}}"#)
            let connection = try await harness.connection()
            for (name, text) in [
                ("org.example.test", TestInterface.text), ("org.varlink.service", InterfaceDescription.service.text),
            ] {
                let reply = try await connection.call(
                    "org.varlink.service.GetInterfaceDescription", { $0.member("interface", name) },
                    returning: [String: String].self)
                #expect(reply == ["description": text])
            }
        }
    }
}
