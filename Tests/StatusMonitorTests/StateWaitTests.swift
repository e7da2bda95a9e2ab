// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusMonitor
import Testing

@Suite("Waiting for a state", .timeLimit(.minutes(5))) struct StateWaitTests {
    private func wait(in fixture: MonitorFixture, for text: String) -> StateWait {
        fixture.monitor.wait(for: name("a")) { $0.status?.text.rawValue == text }
    }

    @Test("the current state is found at once")
    func current() throws {
        let fixture = MonitorFixture()
        try fixture.post("ready", to: "a")
        #expect(wait(in: fixture, for: "ready").found?.status?.text.rawValue == "ready")
        #expect(wait(in: fixture, for: "done").found == nil)
    }

    @Test("a state is found even if it was overwritten before the waiting task ran")
    func overwritten() async throws {
        let fixture = MonitorFixture(capacities: 8...8)
        let wait = wait(in: fixture, for: "ready")
        try fixture.post("ready", to: "a")
        for round in 1...100 { try fixture.post("\(round)", to: "a") }
        #expect(await wait.state()?.status?.text.rawValue == "ready")
        #expect(fixture.monitor.watchCount == 0)
    }

    @Test("the server may be removed and added again meanwhile")
    func later() async throws {
        let fixture = MonitorFixture(servers: ["a"])
        let wait = wait(in: fixture, for: "ready")
        try fixture.monitor.remove(name("a"))
        fixture.monitor.add(ServerDefinition(name: name("a"), source: "push"))
        async let state = wait.state()
        try fixture.post("ready", to: "a")
        #expect(await state?.status?.text.rawValue == "ready")
    }

    @Test("a cancelled wait ends, and leaves no reader")
    func cancelled() async throws {
        let fixture = MonitorFixture()
        let wait = wait(in: fixture, for: "ready")
        let task = Task { await wait.state() }
        task.cancel()
        #expect(await task.value == nil)
        #expect(fixture.monitor.watchCount == 0)
    }
}
