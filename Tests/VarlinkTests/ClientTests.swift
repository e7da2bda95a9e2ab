// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import Synchronization
import Testing

@testable import Varlink

@Suite("The client", .timeLimit(.minutes(5)))
struct ClientTests {
    private func code(_ error: any Error) -> VarlinkClientError.Code? { (error as? VarlinkClientError)?.code }

    @Test("it gets a reply, or the service's error with its parameters")
    func calls() async throws {
        try await Harness.run { harness in
            let connection = try await harness.connection()
            #expect(try await echo(connection, "ä\n\u{1}") == "ä\n\u{1}")
            let error = await #expect(throws: VarlinkError.self) {
                try await connection.call("org.example.test.Fail", returning: NoReply.self)
            }
            #expect(error?.name == "org.example.test.Failed")
            #expect(error?.text("reason") == "asked to")
            #expect(error?.text("other") == nil)
            #expect(try await echo(connection, "after") == "after")
        }
    }

    @Test("concurrent calls on one connection each get their own reply")
    func overlaps() async throws {
        try await Harness.run { harness in
            let connection = try await harness.connection()
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<200 {
                    group.addTask { try await echo(connection, "\(number)") == "\(number)" }
                }
                for try await isRight in group { #expect(isRight) }
            }
        }
    }

    @Test("a oneway call does not wait for a reply")
    func callsOneway() async throws {
        try await Harness.run { harness in
            let connection = try await harness.connection()
            try await connection.callOneway("org.example.test.Echo") { $0.member("text", "oneway") }
            #expect(try await echo(connection, "after") == "after")
            #expect(await harness.interface.echoed == ["oneway", "after"])
        }
    }

    @Test("a stream's replies arrive one by one, including the last, and the connection can be used again")
    func streams() async throws {
        try await Harness.run { harness in
            let connection = try await harness.connection()
            let replies = try await connection.stream(
                "org.example.test.Count", { $0.member("count", 500) }, of: NumberReply.self)
            var numbers: [Int] = []
            for try await reply in replies {
                numbers.append(reply.number)
                if reply.number == 500 {
                    await EventLoop.run { harness.interface.stream?.finish { $0.member("number", 501) } }
                }
            }
            #expect(numbers == Array(1...501))
            #expect(try await echo(connection, "after") == "after")
        }
    }

    @Test("an error ends a stream")
    func streamsFail() async throws {
        try await Harness.run { harness in
            let connection = try await harness.connection()
            let replies = try await connection.stream(
                "org.example.test.Count", { $0.member("count", 1) }, of: NumberReply.self)
            var iterator = replies.makeAsyncIterator()
            #expect(try await iterator.next()?.number == 1)
            await EventLoop.run { harness.interface.stream?.fail(.service(.permissionDenied)) }
            await #expect(throws: VarlinkError.service(.permissionDenied)) { _ = try await iterator.next() }
            #expect(try await iterator.next() == nil)
        }
    }

    @Test("a slow consumer blocks the service's stream: at most one buffer is read ahead")
    func isPulled() async throws {
        try await Harness.run { harness in
            let connection = try await harness.connection()
            let replies = try await connection.stream(
                "org.example.test.Count", { $0.member("size", 1_000) }, of: NumberReply.self)
            var iterator = replies.makeAsyncIterator()
            _ = try await iterator.next()
            await harness.settle()
            let asked = await harness.interface.produced
            #expect(asked * 1_000 < (64 + 512 + 64) * 1024)
            await harness.settle()
            #expect(await harness.interface.produced == asked)
            for _ in 0..<(2 * asked) { _ = try await iterator.next() }
            #expect(await harness.interface.produced > asked)
        }
    }

    @Test("a service with an endless stream notices when the client stops iterating")
    func abandonsStreams() async throws {
        try await Harness.run { harness in
            let connection = try await harness.connection()
            for try await reply in try await connection.stream("org.example.test.Count", of: NumberReply.self)
            where reply.number > 2 {
                break
            }
            await harness.interface.streamClosed.wait()
            await #expect { try await echo(connection, "x") } throws: { code($0) == .closed }
        }
    }

    @Test("a second iteration continues where the first one stopped, however many replies arrived together")
    func continuesIteration() async throws {
        let (connection, service) = try await scripted()
        let replies = try await connection.stream("org.example.test.Count", of: NumberReply.self)
        _ = await service.receive()
        await service.send(
            #"{"parameters":{"number":1},"continues":true}"#, #"{"parameters":{"number":2},"continues":true}"#,
            #"{"parameters":{"number":3}}"#)
        var numbers: [Int] = []
        for _ in 0..<3 {
            for try await reply in replies {
                numbers.append(reply.number)
                break
            }
        }
        #expect(numbers == [1, 2, 3])
    }

    @Test("cancelling one of several calls does not affect the others, which get their own replies")
    func cancelsOneOfSeveral() async throws {
        let (connection, service) = try await scripted()
        let first = Task { try await echo(connection, "first") }
        _ = await service.receive()
        let second = Task { try await echo(connection, "second") }
        _ = await service.receive()
        let third = Task { try await echo(connection, "third") }
        _ = await service.receive()
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        await service.send(Call.echoReply("first"), Call.echoReply("second"), Call.echoReply("third"))
        #expect(try await third.value == "third")
        let fourth = Task { try await echo(connection, "fourth") }
        _ = await service.receive()
        await service.send(Call.echoReply("fourth"))
        #expect(try await fourth.value == "fourth")
    }

    @Test("cancelling a call whose reply has arrived but was not taken ends only that call")
    func cancelsWhatIsAnswered() async throws {
        let (connection, service) = try await scripted()
        let second = Mutex<Task<String?, any Error>?>(nil)
        // Both are on the loop, so that the second is mostly resumed, but has not yet run, when the first cancels it.
        let first = Task { @EventLoop in
            defer { second.withLock { $0?.cancel() } }
            return try await echo(connection, "first")
        }
        _ = await service.receive()
        second.withLock { $0 = Task { @EventLoop in try await echo(connection, "second") } }
        _ = await service.receive()
        let third = Task { try await echo(connection, "third") }
        _ = await service.receive()
        await service.send(Call.echoReply("first"), Call.echoReply("second"), Call.echoReply("third"))
        #expect(try await first.value == "first")
        let cancelled = second.withLock { $0 }
        // The runtime may run the second call first, which then has its reply.
        switch await cancelled?.result {
        case .failure(let error): #expect(error is CancellationError)
        case .success(let text): #expect(text == "second")
        case nil: Issue.record("it was never called")
        }
        #expect(try await third.value == "third")
    }

    @Test("calls and streams distinguish a timeout from a closed connection")
    func timesOut() async throws {
        let (connection, service) = try await scripted()
        await #expect {
            try await connection.call(
                "org.example.test.Wait", returning: NoReply.self, timeout: .milliseconds(1))
        } throws: {
            code($0) == .timedOut
        }
        _ = await service.receive()
        #expect(await service.seesEnd())
        let (other, silent) = try await scripted()
        let replies = try await other.stream(
            "org.example.test.Count", of: NumberReply.self, timeout: .seconds(60), silence: .milliseconds(1))
        var iterator = replies.makeAsyncIterator()
        _ = await silent.receive()
        await silent.send(#"{"parameters":{"number":1},"continues":true}"#)
        #expect(try await iterator.next()?.number == 1)
        await #expect { _ = try await iterator.next() } throws: { code($0) == .timedOut }
    }

    @Test("cancelling a call returns at once, and the connection can be used again when its reply has arrived")
    func cancels() async throws {
        try await Harness.run { harness in
            let connection = try await harness.connection()
            // Unstructured, so that it can be cancelled alone.
            let call = Task { try await connection.call("org.example.test.Wait", returning: NoReply.self) }
            await harness.interface.waiting.wait()
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            await harness.interface.release.fire()
            #expect(try await echo(connection, "x") == "x")
        }
    }

    @Test("a cancelled call's reply is dropped and does not answer the next call, even if no caller waited for it")
    func dropsReply() async throws {
        let (connection, service) = try await scripted()
        for _ in 0..<3 {
            let call = Task { try await echo(connection, "first") }
            _ = await service.receive()
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            await service.send(Call.echoReply("first"))
            async let next = echo(connection, "next")
            _ = await service.receive()
            await service.send(Call.echoReply("next"))
            #expect(try await next == "next")
        }
    }

    @Test("closing the connection tells the service that a cancelled call is no longer wanted")
    func closesAfterCancelling() async throws {
        try await Harness.run { harness in
            let connection = try await harness.connection()
            let call = Task { try await connection.call("org.example.test.Wait", returning: NoReply.self) }
            await harness.interface.waiting.wait()
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            await connection.close()
            await harness.interface.cancelled.wait()
            await #expect { try await echo(connection, "x") } throws: { code($0) == .closed }
        }
    }

    @Test("too many cancelled calls without an answer close the connection")
    func boundsCancelledCalls() async throws {
        let limits = ClientStateMachine.Limits(calls: 3)
        let (connection, service) = try await scripted(limits: limits)
        for number in 1...4 {
            let call = Task { try await echo(connection, "x") }
            _ = await service.receive()
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            if number == 3 { #expect(await connection.isOpen) }
        }
        #expect(await service.seesEnd())
    }

    @Test("an abandoned stream is dropped to its end, and the connection can be used again")
    func dropsStream() async throws {
        let (connection, service) = try await scripted()
        for try await _ in try await startedStream(connection, service) { break }
        await service.send(#"{"parameters":{"number":2},"continues":true}"#, #"{"parameters":{"number":3}}"#)
        async let next = echo(connection, "next")
        _ = await service.receive()
        await service.send(Call.echoReply("next"))
        #expect(try await next == "next")
    }

    @Test("an abandoned stream that does not end closes the connection, and fails the calls behind it")
    func boundsDroppedStream() async throws {
        let limits = ClientStateMachine.Limits(streamReplies: 2, streamTime: .seconds(600))
        let (connection, service) = try await scripted(limits: limits)
        for try await _ in try await startedStream(connection, service) { break }
        let behind = Task { try await echo(connection, "behind") }
        _ = await service.receive()
        for number in 2...4 { await service.send(#"{"parameters":{"number":\#(number)},"continues":true}"#) }
        await #expect(throws: VarlinkClientError.endlessStream) { try await behind.value }
        #expect(await service.seesEnd())
    }

    @Test("an abandoned stream that is silent closes the connection after a time")
    func boundsSilentStream() async throws {
        let (connection, service) = try await scripted(limits: ClientStateMachine.Limits(streamTime: .milliseconds(1)))
        for try await _ in try await startedStream(connection, service) { break }
        #expect(await service.seesEnd())
        await #expect(throws: VarlinkClientError.endlessStream) { try await echo(connection, "x") }
    }

    /// A stream whose first reply has been sent.
    private func startedStream(
        _ connection: VarlinkConnection, _ service: RawClient
    ) async throws -> VarlinkReplies<NumberReply> {
        let replies = try await connection.stream("org.example.test.Count", of: NumberReply.self)
        _ = await service.receive()
        await service.send(#"{"parameters":{"number":1},"continues":true}"#)
        return replies
    }

    @Test("a task that is cancelled before it calls gets no reply")
    func isCancelledBefore() async throws {
        let (connection, _) = try await scripted()
        // Unstructured, so that it can be cancelled alone.
        let call = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await connection.call("org.example.test.Wait", returning: NoReply.self)
        }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
    }

    @Test("a task that is cancelled before it calls gets no reply, even with another call on the same connection")
    func isCancelledWithAnother() async throws {
        let (connection, service) = try await scripted()
        async let other = echo(connection, "x")
        _ = await service.receive()
        // Unstructured, so that it can be cancelled alone.
        let call = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await connection.call("org.example.test.Wait", returning: NoReply.self, timeout: nil)
        }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        await service.send(#"{"parameters":{"text":"x"}}"#)
        #expect(try await other == "x")
    }

    @Test("a cancelled consumer gets no more replies, not even those that have arrived")
    func forgetsWhatIsBuffered() async throws {
        let (connection, service) = try await scripted(limits: ClientStateMachine.Limits(streamReplies: 0))
        let replies = try await connection.stream("org.example.test.Count", of: NumberReply.self)
        _ = await service.receive()
        await service.send(
            #"{"parameters":{"number":1},"continues":true}"#, #"{"parameters":{"number":2},"continues":true}"#)
        let took = Signal()
        let mayContinue = Signal()
        // Unstructured, so that it can be cancelled alone.
        let consumer = Task {
            var iterator = replies.makeAsyncIterator()
            _ = try await iterator.next()
            await took.fire()
            await mayContinue.wait()
            return try await iterator.next()
        }
        await took.wait()
        consumer.cancel()
        await mayContinue.fire()
        await #expect(throws: CancellationError.self) { try await consumer.value }
        #expect(await service.seesEnd())
    }

    @Test("a service that closes during a call is distinguished from a service that answers")
    func isClosed() async throws {
        let (connection, service) = try await scripted()
        let call = Task { try await connection.call("org.example.test.Wait", returning: NoReply.self) }
        _ = await service.receive()
        await service.send(bytes: Array(#"{"parameters":"#.utf8))
        service.close()
        await #expect { try await call.value } throws: { code($0) == .closed }
    }

    @Test("replies that the service sent before it closed are still read")
    func readsWhatIsLeft() async throws {
        let (connection, service) = try await scripted()
        let replies = try await connection.stream("org.example.test.Count", of: NumberReply.self)
        _ = await service.receive()
        await service.send(
            #"{"parameters":{"number":1},"continues":true}"#, #"{"parameters":{"number":2},"continues":true}"#)
        service.close()
        var iterator = replies.makeAsyncIterator()
        #expect(try await iterator.next()?.number == 1)
        #expect(try await iterator.next()?.number == 2)
        await #expect { _ = try await iterator.next() } throws: { code($0) == .closed }
    }

    @Test(
        "an invalid reply is distinguished from the service's errors, and closes the connection",
        arguments: [
            "", "x", "[]", #"{"parameters":[]}"#, #"{"parameters":{"text":1}}"#, #"{"error":1}"#, #"{"other":{}}"#,
            #"{"parameters":{},"continues":true}"#,
        ])
    func refuses(reply: String) async throws {
        let (connection, service) = try await scripted()
        let call = Task { try await echo(connection, "x") }
        _ = await service.receive()
        await service.send(reply)
        await #expect { try await call.value } throws: { code($0) == .malformedReply }
        #expect(await service.seesEnd())
    }
}
