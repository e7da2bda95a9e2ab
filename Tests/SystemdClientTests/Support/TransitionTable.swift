// SPDX-License-Identifier: Apache-2.0

import Testing

/// All transitions of a state machine, which a test compares with what the machine does.
///
/// A machine hides its state. It is in the table's state if it then has that state's outputs for all inputs.
struct TransitionTable<Input: RawRepresentable<String>> {
    private struct Transition {
        let state: String
        let output: String
    }

    /// Inputs that lead to each state.
    private let states: [String: [Input]]
    private let inputs: [Input]
    private var transitions: [String: [String: Transition]] = [:]

    /// Reads a table of lines such as `state, input: next state, output`.
    ///
    /// Pairs that are not listed neither change the state nor have an output; the next state `-` is the same one.
    init(_ text: String, states: [String: [Input]], inputs: [Input]) {
        self.states = states
        self.inputs = inputs
        for line in text.split(separator: "\n") {
            let halves = line.split(separator: ":", maxSplits: 1).map { Self.words($0) }
            let (state, input) = (halves[0][0], halves[0][1])
            #expect(states[state] != nil && inputs.contains { $0.rawValue == input }, "\(line)")
            let next = halves[1][0] == "-" ? state : halves[1][0]
            #expect(states[next] != nil, "\(line)")
            transitions[state, default: [:]][input] = Transition(
                state: next, output: halves[1].dropFirst().joined(separator: ", "))
        }
    }

    private static func words(_ text: Substring) -> [String] {
        text.split(separator: ",").map { $0.split(separator: " ").joined(separator: " ") }
    }

    private func transition(_ state: String, _ input: Input) -> Transition {
        transitions[state]?[input.rawValue] ?? Transition(state: state, output: "")
    }

    /// Compares all pairs of states and inputs, and all inputs after them.
    ///
    /// - Parameter output: the outputs of a new machine for the last of some inputs.
    func check(_ output: ([Input]) -> String) {
        for (state, history) in states {
            for input in inputs {
                let expected = transition(state, input)
                #expect(output(history + [input]) == expected.output, "\(state), \(input)")
                for next in inputs {
                    let found = output(history + [input, next])
                    #expect(
                        found == transition(expected.state, next).output,
                        "\(state), \(input), \(next): should be \(expected.state)")
                }
            }
        }
    }
}
