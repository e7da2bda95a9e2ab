// SPDX-License-Identifier: Apache-2.0

import AlertHistories
import Testing

@Suite("Alerts over random histories", .timeLimit(.minutes(5))) struct HistoryTests {
    // “packaging/test histories” runs many more, with the optimiser.
    @Test("once it is quiet, what was last told is what is true; nothing is told that was held, early, or twice")
    func histories() {
        for seed in 0..<300 {
            let history = History(seed: UInt64(seed), steps: 40)
            if let report = history.report { Issue.record("\(report)") }
        }
    }

    @Test("of forty children of one parent, those that are bad themselves are told together, after its outage")
    func outages() {
        for seed in 0..<100 {
            if let report = Outage(seed: UInt64(seed)).report { Issue.record("\(report)") }
        }
        #expect((0..<10).allSatisfy { Outage(seed: $0, fault: .ignoresParents).report != nil })
    }

    @Test(
        "each promise is seen to be broken by a fault that breaks it",
        arguments: [
            (World.Fault.losesRecoveries, "Settles"), (.ignoresSilences, "NeverHeld"), (.forgetsDeliveries, "Once"),
            (.inventsProblems, "NoGhost"), (.ignoresParents, "NeverHeld"), (.ignoresDuration, "NotEarly"),
        ])
    func faults(_ fault: World.Fault, _ promise: String) {
        let found = (0..<2000).contains { seed in
            History(seed: seed, steps: 40, fault: fault).run().violations.contains { $0.hasPrefix(promise) }
        }
        #expect(found)
    }
}
