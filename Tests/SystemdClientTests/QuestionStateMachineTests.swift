// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import SystemdClient

@Suite("The questions that are due about a unit") struct QuestionStateMachineTests {
    enum Input: String, CaseIterable { case look, read, begin, answered, refused, lost, expire }

    private static let start = SuspendingClock.now

    private static func apply(_ inputs: [Input], to machine: inout QuestionStateMachine) -> String {
        var output = ""
        for input in inputs {
            output = ""
            switch input {
            case .look: if machine.needs(.look) { output = "get in line" }
            case .read: if machine.needs(.read) { output = "get in line" }
            case .begin: output = "ask \(machine.begin(at: start))"
            case .answered: machine.answered()
            case .refused: machine.refused()
            case .lost: machine.lost()
            case .expire: if machine.isInVain(askedBefore: start + .seconds(1)) { output = "in vain" }
            }
        }
        return output
    }

    private static let states: [String: [Input]] = [
        "settled": [], "look": [.look], "read": [.read], "refused": [.begin, .refused], "asked": [.begin],
        "asked look": [.begin, .look], "asked read": [.begin, .read], "again": [.begin, .refused, .begin],
        "again look": [.begin, .refused, .begin, .look], "again read": [.begin, .refused, .begin, .read],
    ]

    @Test("has these transitions")
    func transitions() {
        let table = """
            settled, look: look, get in line
            settled, read: read, get in line
            settled, begin: asked, ask nothing
            look, read: read
            look, begin: asked, ask look
            look, lost: settled
            read, begin: asked, ask read
            read, lost: settled
            refused, begin: again, ask read
            refused, lost: settled
            refused, expire: -, in vain
            asked, look: asked look
            asked, read: asked read
            asked, begin: -, ask nothing
            asked, answered: settled
            asked, refused: refused
            asked, lost: settled
            asked look, read: asked read
            asked look, begin: asked, ask look
            asked look, answered: look
            asked look, refused: refused
            asked look, lost: settled
            asked read, begin: asked, ask read
            asked read, answered: read
            asked read, refused: refused
            asked read, lost: settled
            again, look: again look
            again, read: again read
            again, begin: -, ask nothing
            again, answered: settled
            again, refused: refused
            again, lost: settled
            again, expire: -, in vain
            again look, read: again read
            again look, begin: again, ask look
            again look, answered: look
            again look, refused: refused
            again look, lost: settled
            again look, expire: -, in vain
            again read, begin: again, ask read
            again read, answered: read
            again read, refused: refused
            again read, lost: settled
            again read, expire: -, in vain
            """
        TransitionTable(table, states: Self.states, inputs: Input.allCases).check { inputs in
            var machine = QuestionStateMachine()
            return Self.apply(inputs, to: &machine)
        }
    }

    @Test("is settled, due or under way")
    func phases() {
        for (name, history) in Self.states {
            var machine = QuestionStateMachine()
            _ = Self.apply(history, to: &machine)
            #expect(machine.isSettled == (name == "settled"))
            #expect(machine.isDue == ["look", "read", "refused"].contains(name))
            #expect(machine.isAsked == (name.hasPrefix("asked") || name.hasPrefix("again")))
        }
    }
}
