// SPDX-License-Identifier: Apache-2.0

import StatusModel
import Testing

@testable import StatusMonitor

@Suite("Snapshots of all servers") struct SnapshotTests {
    private let fixture = MonitorFixture(servers: ["a", "b", "d", "e", "f", "g"], capacities: 16...16)

    /// Begins a snapshot and reads its first servers.
    private func begin(_ watch: Watch, _ count: Int) -> [String] {
        #expect(watch.next()?.kind == .snapshot)
        return read(watch, count)
    }

    private func read(_ watch: Watch, _ count: Int) -> [String] {
        (watch.nextServers(limit: count) ?? []).map { "\($0.name) \($0.headline)" }
    }

    @Test("a change during a snapshot is either in it or an event after it, never both")
    func pieces() throws {
        let watch = try fixture.watch(.all)
        #expect(begin(watch, 3) == ["a no status yet", "b no status yet", "d no status yet"])
        try fixture.post("read already", to: "b")
        try fixture.post("not read yet", to: "e")
        fixture.monitor.add(ServerDefinition(name: name("c"), source: "push"))
        fixture.monitor.add(ServerDefinition(name: name("h"), source: "push"))
        try fixture.monitor.remove(name("a"))
        try fixture.monitor.remove(name("f"))
        #expect(read(watch, 2) == ["e not read yet", "g no status yet"])
        try fixture.post("again", to: "e")
        try fixture.monitor.select(name("h"))
        #expect(read(watch, 2) == ["h no status yet"])
        #expect(watch.nextServers(limit: 2) == nil)
        #expect(watch.nextServers(limit: 2) == nil)
        fixture.monitor.add(ServerDefinition(name: name("i"), source: "push"))
        #expect(
            watch.lines() == [
                "changed b read already", "added c no status yet", "removed a no status yet", "changed e again",
                "selected h no status yet", "added i no status yet",
            ])
    }

    @Test("a selection after a snapshot shows no state older than the snapshot's")
    func selection() throws {
        let watch = try fixture.watch(.all)
        _ = begin(watch, 1)
        try fixture.post("old", to: "g")
        try fixture.monitor.select(name("g"))
        try fixture.post("between", to: "g")
        try fixture.post("new", to: "g")
        try fixture.monitor.select(name("a"))
        #expect(read(watch, 100).last == "g new")
        try fixture.post("newest", to: "g")
        var events: [Event] = []
        while let event = watch.next() {
            events.append(event)
            _ = watch.nextServers(limit: 1)
        }
        #expect(
            events.map { "\($0.kind) \($0.server?.headline ?? "-")" } == [
                "selected new", "selected no status yet", "changed newest",
            ])
        #expect(events.map { $0.server?.isSelected } == [true, true, false])
    }

    @Test("a selection between a snapshot's beginning and its first servers shows no older state either")
    func selectionBeforeFirstServers() throws {
        let watch = try fixture.watch(.all)
        #expect(watch.next()?.kind == .snapshot)
        try fixture.monitor.select(name("g"))
        try fixture.post("new", to: "g")
        #expect(read(watch, 100).last == "g new")
        #expect(watch.nextServers(limit: 1) == nil)
        #expect(watch.lines() == ["selected g new"])
    }

    @Test(
        "the selection of a server that is removed before the snapshot reads it is not an event: it would never go away"
    )
    func goneSelection() throws {
        let watch = try fixture.watch(.all)
        _ = begin(watch, 1)
        try fixture.monitor.select(name("g"))
        try fixture.monitor.remove(name("g"))
        #expect(read(watch, 100).last == "f no status yet")
        #expect(watch.nextServers(limit: 1) == nil)
        #expect(watch.lines() == ["selected -"])
    }

    @Test("a snapshot is not followed by a gap if servers that it has not read yet change often")
    func noFalseGap() throws {
        let watch = try fixture.watch(.all)
        _ = begin(watch, 1)
        for number in 0..<100 { try fixture.post("\(number)", to: "g") }
        #expect(read(watch, 100).last == "g 99")
        #expect(watch.nextServers(limit: 1) == nil)
        try fixture.post("100", to: "g")
        #expect(watch.lines() == ["changed g 100"])
    }

    @Test(
        "a snapshot is followed by a gap with the exact number if servers that it has read change too often")
    func gap() throws {
        let watch = try fixture.watch(.all)
        _ = begin(watch, 1)
        for number in 0..<100 {
            try fixture.post("\(number)", to: "a")
            try fixture.post("\(number)", to: "g")
        }
        while watch.nextServers(limit: 2) != nil {}
        #expect(watch.lines() == ["gap 100", "snapshot -"])
    }

    @Test("an empty snapshot ends at once")
    func empty() throws {
        let fixture = MonitorFixture(servers: [])
        let watch = try fixture.watch(.all)
        #expect(begin(watch, 1) == [])
        fixture.monitor.add(ServerDefinition(name: name("a"), source: "push"))
        #expect(watch.lines() == ["added a no status yet"])
    }
}
