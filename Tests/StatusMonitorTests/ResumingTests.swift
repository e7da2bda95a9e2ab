// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusMonitor
import Testing

@Suite("Resuming") struct ResumingTests {
    @Test("invariant 6: a stream continues after a cursor, without a snapshot and without a repeat")
    func resumes() throws {
        let fixture = MonitorFixture()
        try fixture.post("a 1", to: "a")
        let cursor = fixture.monitor.cursor
        try fixture.post("a 2", to: "a")
        try fixture.post("b 1", to: "b")
        let watch = try fixture.watch(.server(name("a")), since: cursor.revision)
        #expect(watch.lines() == ["changed a a 2"])
        let quiet = try fixture.watch(.server(name("a")), since: fixture.monitor.cursor.revision)
        #expect(quiet.lines() == [])
    }

    @Test("invariant 6: after a cursor of another run, of the future or too old, there is a gap and a snapshot")
    func lost() throws {
        let fixture = MonitorFixture(capacities: 8...8)
        for round in 1...20 { try fixture.post("a \(round)", to: "a") }
        let expected = ["gap -", "snapshot a a 20"]
        #expect(try fixture.watch(.server(name("a")), since: 22, epoch: .random()).lines() == expected)
        #expect(try fixture.watch(.server(name("a")), since: 1000).lines() == expected)
        #expect(try fixture.watch(.server(name("a")), since: 3).lines() == expected)
    }

    @Test("invariant 6: a quiet server's stream is resumed however old the cursor is")
    func quiet() throws {
        let fixture = MonitorFixture(capacities: 8...8)
        try fixture.post("a 1", to: "a")
        let cursor = fixture.monitor.cursor
        for round in 1...50 { try fixture.post("b \(round)", to: "b") }
        let watch = try fixture.watch(.server(name("a")), since: cursor.revision)
        #expect(watch.lines() == [])
        try fixture.post("a 2", to: "a")
        #expect(watch.lines() == ["changed a a 2"])
    }

    @Test("invariant 6: changes of a server before it was removed, and added again, are a gap")
    func addedAgain() throws {
        let fixture = MonitorFixture(capacities: 8...8)
        let cursor = fixture.monitor.cursor
        try fixture.post("a 1", to: "a")
        try fixture.monitor.remove(name("a"))
        for round in 1...50 { try fixture.post("b \(round)", to: "b") }
        fixture.monitor.add(ServerDefinition(name: name("a"), source: "push"))
        try fixture.post("a 2", to: "a")
        #expect(
            try fixture.watch(.server(name("a")), since: cursor.revision).lines() == ["gap -", "snapshot a a 2"])
    }

    @Test(
        "invariant 1: a follower that resumes from an old cursor before a switch gets none of the old server's events"
    )
    func resumedBehindOldSwitch() throws {
        let fixture = MonitorFixture(capacities: 8...8)
        try fixture.monitor.select(name("a"))
        let cursor = fixture.monitor.cursor
        for round in 1...50 { try fixture.post("b \(round)", to: "b") }
        try fixture.post("a 1", to: "a")
        try fixture.monitor.select(name("b"))
        try fixture.post("b 51", to: "b")
        #expect(try fixture.watch(since: cursor.revision).lines() == ["gap -", "snapshot b b 51"])
    }

    @Test("invariant 5: selections are not a gap either if the log no longer holds them", arguments: ["a", "b"])
    func droppedMoves(selected: String) throws {
        let fixture = MonitorFixture(servers: ["a", "b", "c"], capacities: 8...8)
        try fixture.monitor.select(name(selected == "a" ? "b" : "a"))
        let cursor = fixture.monitor.cursor
        let watch = try fixture.watch(since: cursor.revision)
        #expect(watch.lines() == [])
        try fixture.monitor.select(nil)
        try fixture.monitor.select(name(selected))
        for round in 1...50 { try fixture.post("c \(round)", to: "c") }
        let expected = "snapshot \(selected) no status yet"
        #expect(watch.lines() == [expected])
        #expect(try fixture.watch(since: cursor.revision).lines() == ["gap -", expected])
        try fixture.post("up", to: selected)
        #expect(try fixture.watch(since: cursor.revision).lines() == ["gap -", "snapshot \(selected) up"])
        for round in 51...100 { try fixture.post("c \(round)", to: "c") }
        #expect(watch.lines() == ["gap 1", "snapshot \(selected) up"])
        #expect(try fixture.watch(since: cursor.revision).lines() == ["gap -", "snapshot \(selected) up"])
    }

    @Test("invariant 1: a follower that resumes before a switch does not get the old server's earlier events")
    func resumedBehindSwitch() throws {
        let fixture = MonitorFixture()
        try fixture.monitor.select(name("a"))
        let cursor = fixture.monitor.cursor
        try fixture.post("a 1", to: "a")
        try fixture.monitor.select(name("b"))
        #expect(try fixture.watch(since: cursor.revision).lines() == ["gap 2", "snapshot b no status yet"])
    }

    @Test("invariant 5: selections that were followed by others meanwhile are not a gap")
    func resumedBehindPassingSelections() throws {
        let fixture = MonitorFixture()
        try fixture.monitor.select(name("a"))
        let cursor = fixture.monitor.cursor
        try fixture.monitor.select(name("b"))
        try fixture.monitor.remove(name("b"))
        try fixture.monitor.select(name("a"))
        try fixture.post("a 1", to: "a")
        #expect(
            try fixture.watch(since: cursor.revision).lines() == ["selected a no status yet", "changed a a 1"])
        let watch = try fixture.watch(since: fixture.monitor.cursor.revision - 1)
        try fixture.monitor.select(nil)
        #expect(watch.lines() == ["gap 2", "snapshot -"])
        try fixture.monitor.select(name("a"))
        let behindMove = try fixture.watch(since: fixture.monitor.cursor.revision - 1)
        try fixture.monitor.select(nil)
        #expect(behindMove.lines() == ["selected -"])
    }
}
