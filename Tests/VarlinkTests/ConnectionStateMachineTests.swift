// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Varlink

/// What can happen to a connection.
private enum Input: CaseIterable {
    case bytes, read, endOfInput, refusal, departure, room, full
    case call, handlerReturns, stream, streamIsHungry, streamHasNoMore
    case pieces, lastPiece
    case answer, drop, queue, turn, resume, beginHandling, endHandling
    case stopReading, drain, close
}

/// A connection without input or output: a machine, and the guarantees that its callers give it.
private struct Connection: ~Copyable {
    static let maximumUnsent = 100

    var machine = ConnectionStateMachine(maximumUnsent: maximumUnsent)
    var unsent = 0
    var isResumeDue = false
    var isInHandler = false
    /// The effects that the machine has requested so far.
    var dropped = 0
    /// A violated rule, in words.
    var fault: String?

    /// Applies an input and performs the machine's effects; returns false if the input cannot occur now.
    mutating func apply(_ input: Input) -> Bool {
        guard mayOccur(input) else { return false }
        let wasClosed = machine.isClosed
        let effects = machine.apply(input, unsent: unsent)
        switch input {
        case .room: unsent = 0
        case .full: unsent = Self.maximumUnsent
        case .resume: isResumeDue = false
        case .call: isInHandler = true
        case .handlerReturns: isInHandler = false
        default: break
        }
        perform(effects, wasClosed: wasClosed)
        // The loop settles once all input has been handled, so not while calls are being handled.
        if !machine.isHandling { settle() }
        return true
    }

    private func mayOccur(_ input: Input) -> Bool {
        switch input {
        // Output is written only to connected readers, and no output is left after it was dropped.
        case .full, .stream, .pieces: machine.mayReply && (input == .full || machine.isWithHandler)
        case .room: unsent > 0
        case .call: machine.isHandling && !isInHandler && machine.mayHandle(unsent: unsent)
        case .handlerReturns: isInHandler
        case .lastPiece: machine.isWriting
        case .beginHandling: machine.mayBeginHandling
        case .endHandling: machine.isHandling && !isInHandler
        case .read: machine.isHandling && !isInHandler && machine.isReadable
        case .endOfInput: machine.isHandling && !isInHandler
        // Nothing else happens on the loop's thread while calls are handled.
        case .resume: !machine.isHandling && isResumeDue
        case .bytes, .departure, .turn, .stopReading, .drain: !machine.isHandling
        default: true
        }
    }

    private mutating func perform(_ effects: ConnectionStateMachine.Effects, wasClosed: Bool) {
        if wasClosed, !effects.isEmpty { fault = "a closed connection does something" }
        if effects.contains(.dropOutput) { (dropped, unsent) = (dropped + 1, 0) }
        if effects.contains(.abandonCall), machine.isAnswering { fault = "an abandoned call is still being answered" }
        if effects.contains(.resume) { isResumeDue = true }
        if effects.contains(.close), machine.close() == nil { fault = "it is closed twice" }
        if machine.isClosed { unsent = 0 }
    }

    private mutating func settle() {
        let wasClosed = machine.isClosed
        let expectation = machine.settle(unsent: unsent)
        if expectation == .end {
            if !wasClosed, unsent > 0 || machine.isAnswering { fault = "it ends with something left to do" }
            _ = machine.close()
        } else if machine.isClosed {
            fault = "a closed connection waits for something"
        } else if !continues(expectation) {
            fault = "nothing will wake it"
        }
    }

    /// Whether something will happen to it, so that it does not stay open forever.
    private func continues(_ expectation: ConnectionStateMachine.Expectation) -> Bool {
        if expectation == .input || unsent > 0 || machine.isQueued || isResumeDue { return true }
        // The answering task will end the call, and is cancelled if the client leaves. Once the service has ended, only
        // pending output is written.
        return machine.isAnswering && expectation == .departure
    }
}

extension ConnectionStateMachine {
    fileprivate var isWithHandler: Bool { isAnswering && !isWriting }

    fileprivate mutating func apply(_ input: Input, unsent: Int) -> Effects {
        switch input {
        case .bytes: bytesCame(unsent: unsent)
        case .read: _ = beginReading(unsent: unsent)
        case .endOfInput: inputEnded()
        case .refusal: refuseInput()
        case .departure: return clientDeparted()
        case .room, .full: break
        case .call: callBegan()
        case .handlerReturns: return handlerReturned()
        case .stream: streamBegan()
        case .streamIsHungry: return streamPaused(isHungry: true)
        case .streamHasNoMore: return streamPaused(isHungry: false)
        case .pieces: writingBegan()
        case .lastPiece: writingEnded()
        case .answer: return callEnded()
        case .drop: return callWasDropped()
        case .queue: _ = queue()
        case .turn: turnCame()
        case .resume: resume()
        case .beginHandling: beginHandling()
        case .endHandling: endHandling()
        case .stopReading: stopReading()
        case .drain: return drain()
        case .close: return close() ?? []
        }
        return []
    }
}

@Suite("The state machine of a service's connection")
struct ConnectionStateMachineTests {
    /// The inputs that lead to each state, with and without calls being handled on the stack.
    private static let states: [[Input]] = [
        [], [.bytes], [.beginHandling], [.bytes, .beginHandling, .read], [.queue],
        [.beginHandling, .call], [.beginHandling, .call, .handlerReturns, .endHandling],
        [.beginHandling, .call, .stream, .handlerReturns, .endHandling],
        [.beginHandling, .call, .stream, .handlerReturns, .endHandling, .streamIsHungry],
        [.beginHandling, .call, .pieces, .handlerReturns, .endHandling],
        [.beginHandling, .call, .handlerReturns, .endHandling, .answer],
        [.beginHandling, .call, .queue, .handlerReturns, .endHandling],
        [.full], [.full, .refusal], [.beginHandling, .endOfInput, .full, .endHandling],
        [.beginHandling, .call, .stream, .handlerReturns, .endHandling, .stopReading],
        [.departure], [.close],
    ]

    @Test(
        "after any two inputs in any state, it neither hangs, nor ends too early, nor does anything once closed",
        arguments: states)
    fileprivate func pairs(_ state: [Input]) {
        for first in Input.allCases {
            for second in Input.allCases {
                var connection = Connection()
                for input in state where !connection.apply(input) { Issue.record("\(state) is not possible") }
                for input in [first, second] { _ = connection.apply(input) }
                #expect(connection.fault == nil, "\(state), \(first), \(second)")
                #expect(connection.dropped <= 1)
            }
        }
    }

    @Test("after any four inputs, a new connection neither hangs, nor ends too early, nor does anything once closed")
    func sequences() {
        let inputs = Input.allCases
        func extend(_ sequence: [Input]) {
            var connection = Connection()
            for input in sequence where !connection.apply(input) { return }
            if let fault = connection.fault {
                Issue.record("\(sequence): \(fault)")
                return
            }
            if sequence.count < 4 { for input in inputs { extend(sequence + [input]) } }
        }
        extend([])
    }

    @Test("calls of a client that has left are handled, but get no answer")
    func departure() {
        var machine = ConnectionStateMachine(maximumUnsent: 100)
        #expect(machine.clientDeparted() == .dropOutput)
        #expect(machine.mayHandle(unsent: 0) && !machine.mayReply)
        #expect(machine.settle(unsent: 0) == .input)
        machine.callBegan()
        #expect(machine.handlerReturned() == .abandonCall)
        machine.inputEnded()
        #expect(machine.settle(unsent: 0) == .end)
    }

    @Test("calls that were read before the end of the input are handled, even if they wait for a turn or for room")
    func lastCalls() {
        var waiting = ConnectionStateMachine(maximumUnsent: 100)
        waiting.inputEnded()
        let (isFirst, isSecond) = (waiting.queue(), waiting.queue())
        #expect(isFirst && !isSecond)
        #expect(waiting.settle(unsent: 0) == .departure)
        waiting.turnCame()
        #expect(waiting.mayHandle(unsent: 0) == true)
        var full = ConnectionStateMachine(maximumUnsent: 100)
        full.inputEnded()
        #expect(full.settle(unsent: 100) == .departure)
        #expect(full.mayHandle(unsent: 50) == true)
        #expect(full.settle(unsent: 50) == .departure)
        #expect(full.settle(unsent: 0) == .end)
    }

    @Test("no call is taken while answers wait to be read")
    func bound() {
        var machine = ConnectionStateMachine(maximumUnsent: 100)
        machine.bytesCame(unsent: 100)
        #expect(!machine.beginReading(unsent: 100) && !machine.mayHandle(unsent: 100))
        #expect(machine.settle(unsent: 100) == .departure)
        #expect(machine.settle(unsent: 99) == .input)
    }

    @Test("when the service ends, a call is cancelled, a stream writes its last replies, and answers are sent")
    func stop() {
        var answering = ConnectionStateMachine(maximumUnsent: 100)
        answering.callBegan()
        #expect(answering.drain() == .abandonCall)
        #expect(answering.settle(unsent: 1) == .departure)
        #expect(answering.settle(unsent: 0) == .end)
        var streaming = ConnectionStateMachine(maximumUnsent: 100)
        streaming.callBegan()
        streaming.streamBegan()
        #expect(streaming.drain() == .wakeStream)
        #expect(streaming.streamPaused(isHungry: true) == [])
        #expect(streaming.streamPaused(isHungry: false) == .abandonCall)
        #expect(streaming.settle(unsent: 0) == .end)
    }
}
