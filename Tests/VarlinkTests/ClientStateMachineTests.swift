// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Varlink

@Suite("The client's state machine")
struct ClientStateMachineTests {
    typealias Harness = ClientMachineHarness
    typealias Input = Harness.Input
    typealias Effects = ClientStateMachine.Effects

    /// How each state is reached.
    static let states: [String: [Input]] = [
        "idle": [],
        "idle again": [.callSingle, .wait, .reply],
        "sent": [.callSingle],
        "awaiting one": [.callSingle, .wait],
        "awaiting two": [.callSingle, .callSingle, .wait, .wait],
        "awaiting the second only": [.callSingle, .callSingle, .waitLast],
        "awaiting a stream": [.callStream, .wait],
        "streaming, no caller waits": [.callStream, .wait, .replyAndContinue],
        "streaming, a call behind": [.callStream, .wait, .replyAndContinue, .callSingle, .waitLast],
        "cancelled in the middle": [.callSingle, .callSingle, .wait, .wait, .cancelLast, .callSingle, .waitLast],
        "draining a call": [.callSingle, .wait, .cancelFirst],
        "draining a call, a call behind": [.callSingle, .callSingle, .wait, .wait, .cancelFirst],
        "draining as many as allowed": [.callSingle, .callSingle, .cancelFirst, .cancelFirst, .callSingle, .waitLast],
        "draining a stream": [.callStream, .wait, .replyAndContinue, .cancelFirst],
        "draining a stream, a call behind": [.callStream, .callSingle, .wait, .waitLast, .cancelFirst],
        "draining as much as allowed": [
            .callStream, .callSingle, .waitLast, .cancelFirst, .replyAndContinue, .replyAndContinue,
        ],
        "draining a stream behind a call": [.callSingle, .callStream, .wait, .cancelLast, .callSingle],
        "closed": [.callSingle, .wait, .close],
        "closed by the service": [.endOfInput],
    ]

    @Test(
        "after any two inputs, replies reach their calls, callers are resumed once, and nothing happens after the end",
        arguments: states.keys.sorted())
    func invariants(state: String) throws {
        let setUp = try #require(Self.states[state])
        for first in Input.allCases {
            for second in Input.allCases {
                let harness = Harness(setUp)
                harness.check()
                for input in [first, second, .close] {
                    harness.put(input)
                    harness.check()
                }
                #expect(harness.hasEnded)
            }
        }
    }

    /// An input in a state, with its effects; nil if it is refused or cannot occur.
    private static let outcomes: [(String, Input, Effects?)] = [
        ("idle", .reply, nil),
        ("idle", .drainTimeOut, nil),
        ("idle", .close, Effects(failure: .closedByCaller, closes: true)),
        ("sent", .reply, nil),
        ("sent", .timeOutFirst, Effects()),
        ("sent", .cancelFirst, Effects()),
        ("awaiting one", .reply, Effects(delivery: 0)),
        ("awaiting one", .replyError, Effects(delivery: 0)),
        ("awaiting one", .replyAndContinue, Effects(failed: [0], failure: .tooManyReplies, closes: true)),
        ("awaiting one", .cancelFirst, Effects(cancelled: 0)),
        ("awaiting one", .timeOutFirst, Effects(failed: [0], failure: Harness.timedOut, closes: true)),
        ("awaiting one", .endOfInput, Effects(failed: [0], failure: .closed, closes: true)),
        ("awaiting two", .reply, Effects(delivery: 0)),
        ("awaiting two", .cancelFirst, Effects(cancelled: 0)),
        ("awaiting two", .cancelLast, Effects(cancelled: 1)),
        ("awaiting two", .timeOutLast, Effects(failed: [0, 1], failure: Harness.timedOut, closes: true)),
        ("awaiting two", .malformed, Effects(failed: [0, 1], failure: Harness.notVarlink, closes: true)),
        ("awaiting the second only", .reply, nil),
        ("awaiting a stream", .replyAndContinue, Effects(delivery: 0)),
        ("awaiting a stream", .cancelFirst, Effects(cancelled: 0, drainTimer: .start)),
        ("streaming, no caller waits", .replyAndContinue, nil),
        ("streaming, no caller waits", .timeOutFirst, Effects()),
        ("streaming, no caller waits", .cancelFirst, Effects(drainTimer: .start)),
        ("streaming, a call behind", .reply, nil),
        ("streaming, a call behind", .cancelLast, Effects(cancelled: 1)),
        ("draining a call", .reply, Effects()),
        ("draining a call", .replyError, Effects()),
        ("draining a call", .replyAndContinue, Effects(failure: .tooManyReplies, closes: true)),
        ("draining a call", .timeOutFirst, Effects()),
        ("draining a call", .drainTimeOut, nil),
        ("draining a call, a call behind", .reply, Effects()),
        ("draining a call, a call behind", .timeOutLast, Effects(failed: [1], failure: Harness.timedOut, closes: true)),
        ("draining as many as allowed", .cancelLast, Effects(cancelled: 2, failure: .tooManyAbandoned, closes: true)),
        ("draining a stream", .replyAndContinue, Effects()),
        ("draining a stream", .reply, Effects(drainTimer: .stop)),
        ("draining a stream", .drainTimeOut, Effects(failure: .endlessStream, drainTimer: .stop, closes: true)),
        ("draining a stream, a call behind", .replyError, Effects(drainTimer: .stop)),
        (
            "draining a stream, a call behind", .drainTimeOut,
            Effects(failed: [1], failure: .endlessStream, drainTimer: .stop, closes: true)
        ),
        (
            "draining as much as allowed", .replyAndContinue,
            Effects(failed: [1], failure: .endlessStream, drainTimer: .stop, closes: true)
        ),
        ("draining a stream behind a call", .reply, Effects(delivery: 0, drainTimer: .start)),
        ("closed", .callStream, nil),
        ("closed", .close, Effects()),
        ("closed", .endOfInput, Effects()),
    ]

    @Test("each input has the expected effects in its state", arguments: outcomes.indices)
    func outcome(of index: Int) throws {
        let (state, input, expected) = Self.outcomes[index]
        let harness = Harness(try #require(Self.states[state]))
        harness.put(input)
        #expect(harness.isRefused == (expected == nil), "\(state): \(input)")
        #expect(harness.effects == expected ?? Effects(), "\(state): \(input)")
    }

    @Test("a call that is made while another one is drained gets its own reply")
    func callsWhileDraining() {
        let harness = Harness([.callSingle, .wait, .cancelFirst, .callSingle, .waitLast, .reply])
        #expect(harness.effects == Effects())
        harness.put(.reply)
        #expect(harness.effects == Effects(delivery: 1))
    }

    @Test("a caller that left before it waited gets an error once it waits, even after its reply was dropped")
    func waitsAfterCancelling() {
        #expect(Harness([.callSingle, .cancelFirst, .wait]).effects == Effects(cancelled: 0))
        #expect(Harness([.callSingle, .cancelFirst, .reply, .wait]).effects == Effects(cancelled: 0))
    }

    @Test("the bytes of an abandoned stream are also bounded, and each stream has its own bound")
    func boundsBytes() throws {
        var machine = ClientStateMachine(limits: ClientStateMachine.Limits(streamBytes: 1000))
        for _ in 0..<2 {
            let ticket = try machine.call(.stream)
            _ = machine.cancel(ticket)
            #expect(machine.message(bytes: 1000, continues: true, isError: false) == Effects())
            #expect(machine.message(bytes: 1000, continues: false, isError: false) == Effects(drainTimer: .stop))
        }
        _ = machine.cancel(try machine.call(.stream))
        #expect(machine.message(bytes: 1001, continues: true, isError: false).failure == .endlessStream)
    }
}
