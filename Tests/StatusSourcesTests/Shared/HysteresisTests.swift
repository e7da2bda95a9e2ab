// SPDX-License-Identifier: Apache-2.0

import StatusModel
import Testing

@testable import StatusSources

@Suite("Hysteresis") struct HysteresisTests {
    /// Returns the shown level after each result; each letter is a level.
    private func shown(_ results: String, failures: Int, successes: Int, first: Level? = nil) -> String {
        let levels: [Character: Level] = ["o": .ok, "w": .warning, "u": .unknown, "c": .critical]
        var hysteresis = Hysteresis(failures: failures, successes: successes, shown: first)
        var current: Character = "-"
        return String(
            results.map { letter in
                if let level = levels[letter], hysteresis.take(level) == .show { current = letter }
                return current
            })
    }

    @Test("the first result counts at once")
    func first() {
        #expect(shown("c", failures: 3, successes: 3) == "c")
        #expect(shown("o", failures: 3, successes: 3) == "o")
    }

    @Test("several worse results in a row count; another result restarts the row")
    func worse() {
        #expect(shown("occc", failures: 3, successes: 1) == "oooc")
        #expect(shown("occocc", failures: 3, successes: 1) == "oooooo")
        #expect(shown("owuc", failures: 3, successes: 1) == "oooc")
    }

    @Test("several better results in a row count")
    func better() {
        #expect(shown("coo", failures: 1, successes: 2) == "cco")
        #expect(shown("cocoo", failures: 1, successes: 2) == "cccco")
        #expect(shown("cwo", failures: 1, successes: 2) == "cco")
    }

    @Test("worse results do not count as better ones")
    func mixed() {
        #expect(shown("wcow", failures: 2, successes: 2) == "wwww")
        #expect(shown("wco", failures: 2, successes: 2) == "www")
    }

    @Test("the first result is compared with the shown level")
    func kept() {
        #expect(shown("cc", failures: 2, successes: 1, first: .ok) == "-c")
    }

    @Test("an extra check may begin or end a row, but not lengthen it")
    func extra() {
        var hysteresis = Hysteresis(failures: 3, successes: 1, shown: .ok)
        for _ in 0..<10 { #expect(hysteresis.take(.critical, isExtra: true) == .hold(1, of: 3)) }
        #expect(hysteresis.take(.critical) == .hold(2, of: 3))
        #expect(hysteresis.take(.critical, isExtra: true) == .hold(2, of: 3))
        #expect(hysteresis.take(.critical) == .show)
        #expect(hysteresis.take(.ok, isExtra: true) == .show)
    }
}
