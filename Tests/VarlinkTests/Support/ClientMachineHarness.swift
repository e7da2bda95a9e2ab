// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Varlink

/// A client's state machine with a service that answers in order, and callers that count how often they are resumed.
final class ClientMachineHarness {
    typealias Ticket = ClientStateMachine.Ticket

    enum Input: CaseIterable {
        case callSingle, callStream
        case wait, waitLast
        case reply, replyAndContinue, replyError
        case cancelFirst, cancelLast
        case timeOutFirst, timeOutLast
        case drainTimeOut, endOfInput, malformed, close
    }

    static let limits = ClientStateMachine.Limits(streamReplies: 2, streamBytes: 1000, calls: 2)
    static let timedOut = VarlinkClientError(.timedOut, "no answer")
    static let notVarlink = VarlinkClientError.malformed("x")

    private var machine = ClientStateMachine(limits: limits)
    /// The calls whose last reply the service has not sent.
    private var unanswered: [(ticket: Ticket, kind: PendingCalls.Kind)] = []
    /// All calls, in order.
    private var tickets: [Ticket] = []
    private var waiting: Set<Ticket> = []
    private var gone: Set<Ticket> = []
    /// Callers whose last reply was delivered, or that got an error.
    private var finished: Set<Ticket> = []
    private var isDrainTimerRunning = false
    private(set) var closings = 0
    /// The effects of the last input.
    private(set) var effects = ClientStateMachine.Effects()
    /// Whether the last input was refused, or could not occur.
    private(set) var isRefused = false

    init(_ inputs: [Input] = []) { for input in inputs { put(input) } }

    var hasEnded: Bool { closings > 0 }
    var wantsMessage: Bool { machine.wantsMessage }

    func put(_ input: Input) {
        effects = ClientStateMachine.Effects()
        isRefused = false
        switch input {
        case .callSingle: call(.single)
        case .callStream: call(.stream)
        case .wait: wait(tickets.first { !waiting.contains($0) && !finished.contains($0) })
        case .waitLast: wait(tickets.last { !waiting.contains($0) && !finished.contains($0) })
        case .reply: reply(continues: false, isError: false)
        case .replyAndContinue: reply(continues: true, isError: false)
        case .replyError: reply(continues: false, isError: true)
        case .cancelFirst: cancel(tickets.first { !gone.contains($0) })
        case .cancelLast: cancel(tickets.last { !gone.contains($0) })
        case .timeOutFirst: timeOut(tickets.first)
        case .timeOutLast: timeOut(tickets.last)
        case .drainTimeOut: if isDrainTimerRunning { take(machine.drainTimeOut()) } else { isRefused = true }
        case .endOfInput: take(machine.fail(.closed))
        case .malformed: take(machine.fail(Self.notVarlink))
        case .close: take(machine.fail(.closedByCaller))
        }
    }

    private func call(_ kind: PendingCalls.Kind) {
        do throws(VarlinkClientError) {
            let ticket = try machine.call(kind)
            #expect(!hasEnded)
            #expect(tickets.last.map { $0 < ticket } ?? true)
            tickets.append(ticket)
            unanswered.append((ticket, kind))
        } catch {
            isRefused = true
        }
    }

    private func wait(_ ticket: Ticket?) {
        guard let ticket else { return isRefused = true }
        waiting.insert(ticket)
        take(machine.wait(ticket))
    }

    private func reply(continues: Bool, isError: Bool) {
        guard machine.wantsMessage, let call = unanswered.first else { return isRefused = true }
        #expect(!hasEnded)
        if !continues { unanswered.removeFirst() }
        let effects = machine.message(bytes: 100, continues: continues, isError: isError)
        if let ticket = effects.delivery {
            #expect(ticket == call.ticket, "a reply must reach the call that it answers")
            #expect(!gone.contains(ticket))
            if !continues { finished.insert(ticket) }
        }
        take(effects)
    }

    private func cancel(_ ticket: Ticket?) {
        guard let ticket else { return isRefused = true }
        gone.insert(ticket)
        take(machine.cancel(ticket))
    }

    private func timeOut(_ ticket: Ticket?) {
        guard let ticket else { return isRefused = true }
        take(machine.timeOut(ticket, Self.timedOut))
    }

    /// Resumes callers, each of which must be waiting.
    private func take(_ effects: ClientStateMachine.Effects) {
        let wasEnded = hasEnded
        self.effects = effects
        if effects.closes { closings += 1 }
        #expect(closings <= 1, "it ends once")
        if wasEnded { #expect(effects.delivery == nil) }
        #expect(effects.failed.isEmpty || effects.failure != nil)
        #expect(effects.failed == effects.failed.sorted())
        for ticket in [effects.delivery, effects.cancelled].compactMap(\.self) + effects.failed {
            #expect(waiting.remove(ticket) != nil, "a caller is resumed once for each time it waits")
        }
        if let cancelled = effects.cancelled { finished.insert(cancelled) }
        finished.formUnion(effects.failed)
        switch effects.drainTimer {
        case .start:
            #expect(!hasEnded)
            isDrainTimerRunning = true
        case .stop:
            #expect(isDrainTimerRunning)
            isDrainTimerRunning = false
        case nil: break
        }
    }

    /// Checks the rules that hold after any input.
    func check() {
        #expect(waiting.isDisjoint(with: gone), "a caller that has left does not wait")
        guard hasEnded else { return }
        #expect(waiting.isEmpty, "no caller waits on a connection that has ended")
        #expect(!machine.wantsMessage && !isDrainTimerRunning)
        #expect(throws: VarlinkClientError.self) { try machine.checkMayCall() }
    }
}
