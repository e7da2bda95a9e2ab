// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Testing

@testable import Varlink

@Suite("Calls that look like the one before", .timeLimit(.minutes(1)))
struct ExpectedEnvelopeTests {
    /// The text in place of the last call's parameters.
    static let parameters = [
        #"{"text":"b"}"#, #"{}"#, "null", #"{"text":"}\"{"}"#, #"{"text":"b","text":"c"}"#, #"{"text":5}"#,
        #" {"text":"b"} "#,
        #"{"text":"b"} x"#, #"{"text":"b"},"more":false"#, #"{"text":"b"},"more":true"#,
        #"{"text":"b"},"oneway":false"#,
        #"{"text":"b"},"x":1"#, #"{"text":"b"},"method":"org.example.test.Fail""#, #"{"text":"b""#, #""text":"b"}"#,
        "}", "{", "",
        #"{"text":"b"},"upgrade":null"#, #"{"text":"\u00"}"#, "[1]", #"{"text":"b"}}{"#,
    ]

    @Test(
        "a oneway call has the same effect as on a connection of its own, whatever its parameters are",
        arguments: ["Echo", "Fail", "Unknown"], parameters)
    func sameAsAlone(method: String, parameters: String) async throws {
        let call = Call.call(method, parameters, "oneway")
        let alone = try await outcome(of: call, after: nil)
        let behind = try await outcome(of: call, after: Call.call(method, #"{"text":"first"}"#, "oneway"))
        #expect(behind == alone)
    }

    @Test("consecutive calls are each read")
    func sequence() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            let texts = (0..<100).map { String(repeating: "x", count: $0) }
            for text in texts { await client.send(Call.call("Echo", #"{"text":"\#(text)"}"#, "oneway")) }
            await client.send(Call.echo("end"))
            #expect(await client.receive() == Call.echoReply("end"))
            #expect(await harness.interface.echoed == texts + ["end"])
        }
    }

    @EventLoop
    @Test("at most a kilobyte around the parameters is remembered")
    func bounded() throws {
        for (length, isRemembered) in [(900, true), (1100, false)] {
            let method = String(repeating: "x", count: length)
            let message = Array(Call.call(method, #"{"text":"a"}"#, "oneway").utf8)
            try message.withUnsafeBytes { message in
                let call = ReceivedCall(
                    envelope: try CallEnvelope(message), route: Route(fullName: "", method: "", interface: nil))
                #expect((ExpectedEnvelope(call, in: message) != nil) == isRemembered)
            }
        }
    }

    @EventLoop
    @Test("parameters may be nested no deeper than in a call that is read as a whole", arguments: [30, 31])
    func depth(count: Int) throws {
        let nested = String(repeating: "[", count: count) + String(repeating: "]", count: count)
        let first = Array(Call.call("Echo", "{}", "oneway").utf8)
        let second = Array(Call.call("Echo", #"{"text":\#(nested)}"#, "oneway").utf8)
        var expected = try first.withUnsafeBytes { message in
            let route = Route(fullName: "", method: "", interface: nil)
            return ExpectedEnvelope(ReceivedCall(envelope: try CallEnvelope(message), route: route), in: message)
        }
        second.withUnsafeBytes { message in
            let assumed = expected?.call(in: message)?.envelope.parameters
            let parameters = try? JSONReader.readParameters(message, assumed, as: [String: JSONText].self)
            #expect((parameters != nil) == ((try? CallEnvelope(message)) != nil))
            #expect((parameters != nil) == (count == 30))
        }
    }

    /// The service's record of a call, and whether it closed the connection.
    private func outcome(of call: String, after first: String?) async throws -> [String?] {
        try await withOutcome { harness in
            let client = await harness.client()
            if let first { await client.send(first) }
            await client.send(call)
            await client.send(Call.echo("end"))
            let reply = await client.receive()
            return await harness.interface.echoed.filter { $0 != "first" } + [reply]
        }
    }

    private func withOutcome(_ body: @escaping @Sendable (Harness) async -> [String?]) async throws -> [String?] {
        let outcome = Outcome()
        try await Harness.run { harness in await outcome.set(await body(harness)) }
        return await outcome.value
    }

    private actor Outcome {
        private(set) var value: [String?] = []
        func set(_ value: [String?]) { self.value = value }
    }
}
