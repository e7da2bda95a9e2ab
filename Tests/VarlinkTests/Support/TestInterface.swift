// SPDX-License-Identifier: Apache-2.0

import Varlink

@testable import EventLoopIO

/// An interface that does whatever a test needs, and records what happened.
@EventLoop
final class TestInterface: VarlinkInterface {
    nonisolated let interfaceDescription: InterfaceDescription

    nonisolated static let text = """
        # An interface for tests.
        interface org.example.test

        # Answers with the text that it was given; never if that is “forget”.
        method Echo(text: string) -> (text: string)
        # Answers with an error.
        method Fail() -> ()
        # Answers when the test says so.
        method Wait() -> ()
        # Waits as Wait does, then closes the connection without an answer.
        method HangUp() -> ()
        # Never answers.
        method Forget() -> ()
        # Answers with count bytes.
        method Fill(count: int) -> (text: string)
        # Answers with count numbers, piece by piece.
        method List(count: int, size: ?int) -> (numbers: []string)
        # Counts up to count, or indefinitely without count. With size 0, each tenth reply is written in pieces. With
        # size -1, there is one reply of 1000 bytes each time the stream is woken.
        method Count(count: ?int, size: ?int) -> (number: int)
        # Is described, but not implemented.
        method Missing() -> ()

        error Failed (reason: string)

        """

    /// The texts of the calls of Echo, in order.
    private(set) var echoed: [String] = []
    /// The loop's turn in which the last of them was handled.
    private(set) var turnOfLastEcho = EventLoop.executor.turnNumber
    /// The number of calls of Fill.
    private(set) var filled = 0
    /// Whether to keep the calls.
    var keepsCalls = false
    /// The kept calls.
    private(set) var keptCalls: [VarlinkCall] = []
    /// The number of written stream replies.
    private(set) var produced = 0
    /// The number of closed streams.
    private(set) var closed = 0
    /// The stream that was opened last.
    private(set) var stream: VarlinkStream?

    /// Fires each time a body of Wait begins, is released, is cancelled, ends; and when a stream closes.
    let waiting = Signal()
    let release = Signal()
    let cancelled = Signal()
    let ended = Signal()
    let streamClosed = Signal()

    init() throws {
        interfaceDescription = try InterfaceDescription(parsing: Self.text)
    }

    nonisolated func onlyReads(_ method: String) -> Bool { method == "Fill" }

    func handle(_ call: VarlinkCall) {
        if keepsCalls { keptCalls.append(call) }
        do throws(VarlinkError) {
            switch call.method {
            case "Echo":
                let text = try call.parameters(EchoParameters.self).text
                echoed.append(text)
                turnOfLastEcho = EventLoop.executor.turnNumber
                if text == "forget" { return }
                call.reply { $0.member("text", text) }
            case "Fail": call.fail(VarlinkError("org.example.test.Failed") { $0.member("reason", "asked to") })
            case "Wait": wait(call) { $0.reply() }
            case "HangUp": wait(call) { $0.hangUp() }
            case "Forget": break
            case "Fill":
                let count = try call.parameters(CountParameters.self).count ?? 0
                filled += 1
                call.reply { $0.member("text", String(repeating: "x", count: count)) }
            case "List": try list(call)
            case "Count": try count(call)
            default: call.failNotImplemented()
            }
        } catch {
            call.fail(error)
        }
    }

    private func wait(_ call: VarlinkCall, end: @escaping @EventLoop @Sendable (VarlinkCall) -> Void) {
        call.perform { [self] call in
            waiting.fire()
            await withTaskCancellationHandler {
                await release.wait()
            } onCancel: {
                EventLoop.perform {
                    self.cancelled.fire()
                    self.release.fire()
                }
            }
            end(call)
            ended.fire()
        }
    }

    private func list(_ call: VarlinkCall) throws(VarlinkError) {
        let parameters = try call.parameters(CountParameters.self)
        call.reply(inPieces: pieces(parameters.count ?? 0, parameters.size ?? 0))
    }

    /// Writes this many texts of `size` bytes, one with each piece, then their number.
    private func pieces(_ count: Int, _ size: Int) -> @EventLoop (inout JSONWriter) -> Bool {
        var written = 0
        return { [self] writer in
            if written == 0 { writer.beginArray("numbers") }
            if written < count {
                written += 1
                produced += 1
                writer.value(String(repeating: "x", count: size))
                return true
            }
            writer.endArray()
            writer.member("count", count)
            return false
        }
    }

    private func count(_ call: VarlinkCall) throws(VarlinkError) {
        let parameters = try call.parameters(CountParameters.self)
        guard call.wantsMore else { throw .service(.expectedMore) }
        var number = 0
        let padding = parameters.size.flatMap { $0 != 0 ? String(repeating: "x", count: $0 < 0 ? 1000 : $0) : nil }
        var isDue = true
        let stream = call.stream { [self] writer in
            if let size = parameters.size, size < 0 {
                defer { isDue.toggle() }
                if !isDue, size == -2 { self.stream?.wake() }
                if !isDue { return false }
            }
            if let count = parameters.count, number >= count { return false }
            number += 1
            if number % 10 == 0, parameters.size == 0 {
                self.stream?.writeInPieces(pieces(number, 1))
                return false
            }
            produced += 1
            writer.member("number", number)
            writer.member("padding", padding)
            return true
        } onClose: { [self] in
            closed += 1
            streamClosed.fire()
        }
        self.stream = stream
        stream.wake()
    }
}

/// An event that a test waits for; earlier events are not forgotten.
@EventLoop
final class Signal {
    private var count = 0
    private var waiters: [CheckedContinuation<Void, Never>] = []

    nonisolated init() {}

    func fire() {
        if waiters.isEmpty { count += 1 } else { waiters.removeFirst().resume() }
    }

    func wait() async {
        if count > 0 { count -= 1 } else { await withCheckedContinuation { waiters.append($0) } }
    }
}

struct EchoParameters: JSONReadable, Sendable {
    var text: String

    init(from reader: inout JSONReader) throws(JSONError) {
        var text: String?
        try reader.object { name, reader throws(JSONError) in
            guard name == "text" else { throw .unknownMember(name) }
            text = try reader.string()
        }
        guard let text else { throw .missingMember("text") }
        self.text = text
    }
}

struct CountParameters: JSONReadable, Sendable {
    var count: Int?
    var size: Int?

    init(from reader: inout JSONReader) throws(JSONError) {
        var count: Int?
        var size: Int?
        try reader.object { name, reader throws(JSONError) in
            switch name {
            case "count": count = try reader.value()
            case "size": size = try reader.value()
            default: throw .unknownMember(name)
            }
        }
        self.count = count
        self.size = size
    }
}

struct NumberReply: JSONReadable, Sendable {
    var number = 0

    init(from reader: inout JSONReader) throws(JSONError) {
        var number = 0
        try reader.object { name, reader throws(JSONError) in
            if name == "number" { number = try reader.integer() }
        }
        self.number = number
    }
}

struct NoReply: JSONReadable, Sendable {
    init(from reader: inout JSONReader) throws(JSONError) { try reader.object { _, _ throws(JSONError) in } }
}
