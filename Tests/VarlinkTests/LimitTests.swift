// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

@testable import EventLoopIO
@testable import Varlink

@Suite("Limits", .timeLimit(.minutes(5)))
struct LimitTests {
    @Test("a message may be as long as the limit; one byte more closes the connection")
    func boundsMessages() async throws {
        var limits = VarlinkService.Limits()
        limits.maximumMessageBytes = 1_000
        try await Harness.run(limits: limits) { harness in
            let overhead = Call.echo("").utf8.count
            let longest = String(repeating: "x", count: 1_000 - overhead)
            let client = await harness.client()
            await client.send(Call.echo(longest))
            #expect(await client.receive() == Call.echoReply(longest))
            await client.send(Call.echo(longest + "x"))
            #expect(await client.seesEnd())
            // An endless message also closes the connection.
            let endless = await harness.client()
            await endless.send(bytes: [UInt8](repeating: UInt8(ascii: " "), count: 1_001))
            #expect(await endless.seesEnd())
        }
    }

    @Test(
        "answers before a message that is refused as junk or for its length are still read, however slowly",
        arguments: [1, 66_000])
    func answersBeforeRefusal(length: Int) async throws {
        var limits = VarlinkService.Limits()
        limits.maximumUnsentBytes = 1 << 20
        try await Harness.run(limits: limits) { harness in
            let client = await harness.client()
            // More than a Unix socket holds.
            let texts = (0..<600).map { "\($0)" + String(repeating: "x", count: 1000) }
            for text in texts { await client.send(Call.echo(text)) }
            await client.send(String(repeating: "}", count: length))
            while await harness.interface.echoed.count < 600 { await EventLoop.run {} }
            await harness.settle()
            for text in texts { #expect(await client.receive() == Call.echoReply(text)) }
            #expect(await client.seesEnd())
        }
    }

    @Test("clients that leave before they are accepted count only briefly, and their calls are handled")
    func handlesThoseWhoLeft() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/socket"
            let listener = try UnixSocket.listen(at: path, mode: 0o600, backlog: 1000)
            try await Harness.run(listeners: [listener]) { harness in
                // The loop is busy meanwhile, so all clients wait to be accepted.
                await EventLoop.run {
                    for number in 0..<600 { callAndLeave(path, Call.call("Echo", #"{"text":"\#(number)"}"#, "oneway")) }
                }
                let last = try await RawClient(path: path)
                await last.send(Call.echo("end"))
                #expect(await last.receive() == Call.echoReply("end"))
                // They were accepted before the last client. Each is served separately, so some may still be in
                // progress.
                while await harness.service.connectionCount > 1 { await EventLoop.run {} }
                #expect(await Set(harness.interface.echoed) == Set((0..<600).map(String.init) + ["end"]))
            }
        }
    }

    /// Connects, sends a call and leaves, all at once.
    private func callAndLeave(_ path: String, _ call: String) {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        #expect(connected == 0)
        #expect(RawClient.sendWhatFits((Array(call.utf8) + [0])[...], to: descriptor) > 0)
    }

    @Test("a slow reader's stream produces only what fits, continues where it stopped, and loses nothing")
    func boundsStreams() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await client.send(Call.call("Count", #"{"size":1000}"#, "more"))
            await harness.settle()
            let asked = await harness.interface.produced
            // The bound, and the bytes that the kernel holds for a Unix socket (208 KiB, a fraction more by its own
            // count).
            #expect(asked * 1_000 < (64 + 512) * 1024)
            await harness.settle()
            #expect(await harness.interface.produced == asked)
            for number in 1...(3 * asked) {
                let reply = try #require(await client.receive())
                #expect(reply.hasPrefix(#"{"parameters":{"number":\#(number),"#))
            }
            #expect(await harness.interface.produced > asked)
        }
    }

    @Test("a slow reader also bounds a stream of many small replies")
    func boundsDroppingStreams() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await client.send(Call.call("Count", #"{"size":-1}"#, "more"))
            await harness.settle()
            for _ in 0..<3000 { await EventLoop.run { harness.interface.stream?.wake() } }
            await harness.settle()
            #expect(await harness.interface.produced * 1_000 < (64 + 512) * 1024)
        }
    }

    @Test("a stream continues until its socket is full, however little output it produces at a time")
    func fillsSockets() async throws {
        var limits = VarlinkService.Limits()
        limits.maximumUnsentBytes = 4096
        try await Harness.run(limits: limits) { harness in
            let client = await harness.client()
            // About 50 KB, which any Unix socket holds.
            await client.send(Call.call("Count", #"{"count":50,"size":1000}"#, "more"))
            while await harness.interface.produced < 50 { await EventLoop.run {} }
        }
    }

    @Test("for a client that does not read its answers, only as many calls are handled as fit under the limit")
    func boundsAnswers() async throws {
        var limits = VarlinkService.Limits()
        limits.maximumUnsentBytes = 100_000
        try await Harness.run(limits: limits) { harness in
            let client = await harness.client()
            let text = String(repeating: "x", count: 1_000)
            let calls: [UInt8] = (0..<3_000).flatMap { _ in Array(Call.echo(text).utf8) + [0] }
            var sent = 0
            var before = -1
            while sent != before {
                before = sent
                sent += client.sendWhatFits(calls[sent...])
                await harness.settle()
            }
            #expect(sent < calls.count)
            let handled = await harness.interface.echoed.count { $0 == text }
            #expect(handled * 1_000 < 100_000 + 512 * 1024)
            // Once it reads, all of them are answered.
            for _ in 0..<3_000 {
                sent += client.sendWhatFits(calls[sent...])
                // If one reply is missing, all following replies are missing.
                try #require(await client.receive() == Call.echoReply(text))
            }
        }
    }

    @Test("a single answer may be longer than the limit")
    func sendsLongAnswers() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await client.send(Call.call("Fill", #"{"count":5000000}"#), Call.echo("behind"))
            #expect(await client.receive()?.utf8.count == 5_000_000 + #"{"parameters":{"text":""}}"#.utf8.count)
            #expect(await client.receive() == Call.echoReply("behind"))
        }
    }

    @Test("an answer in pieces is complete, and while it is unread, only the part that fits is written")
    func answersInPieces() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await client.send(Call.call("List", #"{"count":3,"size":2}"#), Call.call("List", #"{"count":0}"#))
            #expect(
                await client.receive(2) == [
                    #"{"parameters":{"numbers":["xx","xx","xx"],"count":3}}"#,
                    #"{"parameters":{"numbers":[],"count":0}}"#,
                ])
            await client.send(Call.call("List", #"{"count":5000,"size":1000}"#), Call.echo("behind"))
            await harness.settle()
            // The bound, and the bytes that the kernel holds for a Unix socket.
            #expect(await harness.interface.produced * 1_000 < (64 + 512) * 1024)
            let long = try #require(await client.receive())
            #expect(long.hasPrefix(#"{"parameters":{"numbers":["xxx"#))
            #expect(long.hasSuffix(#"xxx"],"count":5000}}"#))
            // Not within #expect, where this expression takes six seconds to compile.
            let length = 5_000 * 1_003 - 1 + #"{"parameters":{"numbers":[],"count":5000}}"#.utf8.count
            #expect(long.utf8.count == length)
            #expect(await client.receive() == Call.echoReply("behind"))
        }
    }

    @Test(
        "replies in pieces stay in order in a stream, and an answer in pieces without a reader is not written")
    func streamsPieces() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await client.send(Call.call("Count", #"{"count":20,"size":0}"#, "more"))
            let replies = await client.receive(20)
            let numbers = Array(repeating: #""x""#, count: 10).joined(separator: ",")
            let tenth = #"{"parameters":{"numbers":[\#(numbers)],"count":10},"continues":true}"#
            #expect(
                replies[8...10] == [
                    #"{"parameters":{"number":9},"continues":true}"#, tenth,
                    #"{"parameters":{"number":11},"continues":true}"#,
                ])
            let before = await harness.interface.produced
            let other = await harness.client()
            await other.send(Call.call("List", #"{"count":100000,"size":100}"#, "oneway"), Call.echo("behind"))
            #expect(await other.receive() == Call.echoReply("behind"))
            #expect(await harness.interface.produced == before)
        }
    }

    @Test("a client that floods the service does not delay others")
    func isFair() async throws {
        try await Harness.run { harness in
            let flooder = await harness.client()
            let other = await harness.client()
            let calls: [UInt8] = (0..<3_000).flatMap { _ in
                Array(Call.call("Echo", #"{"text":"f"}"#, "oneway").utf8) + [0]
            }
            // On the loop, so that everything has arrived before it checks.
            let (flood, single) = (flooder.descriptor, other.descriptor)
            let sent = await EventLoop.run {
                let sent = RawClient.sendWhatFits(calls[...], to: flood)
                _ = RawClient.sendWhatFits((Array(Call.echo("other").utf8) + [0])[...], to: single)
                return sent
            }
            let count = sent / (calls.count / 3_000)
            #expect(count > 1_000)
            #expect(await other.receive() == Call.echoReply("other"))
            let position = try #require(await harness.interface.echoed.firstIndex(of: "other"))
            #expect(position < count / 2)
        }
    }

    @Test("a client that has used its share is answered before the work that waits for a turn")
    func shortCallsComeFirst() async throws {
        try await Harness.run { harness in
            let (client, work) = (await harness.client(), TurnWork())
            await EventLoop.run { for _ in 0..<1000 { work.wait() } }
            for number in 0..<10 {
                let message = Array(Call.echo("\(number)").utf8) + [0]
                let descriptor = client.descriptor
                // On the loop, so that the call has arrived before the loop's next turn.
                let turn = await EventLoop.run {
                    _ = RawClient.sendWhatFits(message[...], to: descriptor)
                    return EventLoop.executor.turnNumber
                }
                #expect(await client.receive() == Call.echoReply("\(number)"))
                // Each turn does one piece of that work, so a call behind it waits for a thousand turns.
                #expect(await harness.interface.turnOfLastEcho - turn < 10)
            }
            await EventLoop.run { work.isOver = true }
        }
    }

    /// Work that takes a whole turn and waits for another one, until a test ends.
    @EventLoop private final class TurnWork {
        var isOver = false

        func wait() {
            EventLoop.atNextTurn {
                if self.isOver { return }
                let share = TurnShare(nanoseconds: 1_000_000)
                while !share.isUsedUp {}
                self.wait()
            }
        }
    }

    @Test("a stream whose client reads at once writes little more than its limit in each turn of the loop")
    func streamsTakeTurns() async throws {
        let limits = VarlinkService.Limits()
        try await Harness.run(limits: limits) { harness in
            let client = await harness.client()
            await client.send(Call.call("Count", #"{"size":1000}"#, "more"))
            let reader = client.readOnThread()
            await harness.settle()
            let begin = await EventLoop.run { (harness.interface.produced, EventLoop.executor.turnNumber) }
            await harness.settle()
            let end = await EventLoop.run { (harness.interface.produced, EventLoop.executor.turnNumber) }
            let turns = Int(end.1 - begin.1) + 1
            // A stream may also be woken once more in a turn, because its client has read.
            #expect((end.0 - begin.0) * 1000 <= 3 * turns * (limits.maximumUnsentBytes + 1000))
            client.shutDown(SHUT_RDWR)
            pthread_join(reader, nil)
        }
    }

    @Test("an endless stream does not delay others")
    func streamsAreFair() async throws {
        try await Harness.run { harness in
            let client = await harness.client()
            await client.send(Call.call("Count", #"{"size":1000}"#, "more"))
            let reader = client.readOnThread()
            await harness.settle()
            client.shutDown(SHUT_RDWR)
            pthread_join(reader, nil)
        }
    }

    @Test("a user at the limit may connect again once a connection is closed")
    func boundsConnections() async throws {
        var limits = VarlinkService.Limits()
        limits.maximumConnectionsPerUser = 2
        // For root, only the total number of connections counts.
        if geteuid() == 0 { limits.maximumConnections = 2 }
        try await Harness.run(limits: limits) { harness in
            let first = await harness.client()
            let second = await harness.client()
            #expect(await harness.client().seesEnd())
            for client in [first, second] {
                await client.send(Call.echo("x"))
                #expect(await client.receive() == Call.echoReply("x"))
            }
            first.close()
            while await harness.service.connectionCount > 1 { await EventLoop.run {} }
            let third = await harness.client()
            await third.send(Call.echo("x"))
            #expect(await third.receive() == Call.echoReply("x"))
        }
    }

    @Test("junk of any kind closes its connections and does not harm the service", arguments: [1, 7, 20_261_121])
    func survivesJunk(seed: UInt64) async throws {
        try await Harness.run { harness in
            var random = SeededRandom(state: seed)
            let pieces = [
                Call.echo("x"), "{", "}", "[", "\"", "\\u", "\0", "null", "{\"method\":", "\u{1}", "ä",
                String(repeating: "[", count: 5_000),
            ]
            for _ in 0..<100 {
                let client = await harness.client()
                var junk: [UInt8] = []
                for _ in 0..<20 {
                    switch Int.random(in: 0..<3, using: &random) {
                    case 0: junk += (0..<50).map { _ in UInt8.random(in: 0...255, using: &random) }
                    case 1: junk += Array((pieces.randomElement(using: &random) ?? "").utf8)
                    default: junk += Array(repeating: 0, count: Int.random(in: 0..<3, using: &random))
                    }
                }
                await client.send(bytes: junk)
            }
            await harness.settle()
            while await harness.service.connectionCount > 0 { await EventLoop.run {} }
        }
    }

    @Test("a thousand connections with half a message each leave nothing behind when they close")
    func survivesCrowds() async throws {
        // Each takes two descriptors here; a process may have 1024 unless it raises its limit.
        var descriptors = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &descriptors)
        descriptors.rlim_cur = max(descriptors.rlim_cur, min(descriptors.rlim_max, 8192))
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &descriptors)
        var limits = VarlinkService.Limits()
        limits.maximumConnectionsPerUser = 2_000
        try await Harness.run(limits: limits) { harness in
            var clients: [RawClient] = []
            for _ in 0..<1000 {
                let client = await harness.client()
                await client.send(bytes: Array(Call.echo("half").utf8.prefix(20)))
                clients.append(client)
            }
            await harness.settle()
            #expect(await harness.service.connectionCount >= 1000)
            clients = []
            while await harness.service.connectionCount > 0 { await EventLoop.run {} }
        }
    }
}
