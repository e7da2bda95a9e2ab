// SPDX-License-Identifier: Apache-2.0

import StatusModel
import TestSupport
import Testing

@testable import StatusMonitor

@Suite("Readers of some of all servers") struct ScopedReaderTests {
    /// What a client shows that follows some servers.
    private struct Board {
        let scope: ServerScope
        var states: [ServerName: ServerState] = [:]
        var cursor: Cursor?

        /// Reads everything that there is; a snapshot after `pieces` pieces is broken off.
        mutating func read(_ watch: Watch, pieces: Int = .max) {
            while let event = watch.next() {
                if event.kind == .snapshot {
                    states = [:]
                    var count = 0
                    while let servers = watch.nextServers(limit: 2) {
                        for server in servers { states[server.name] = server }
                        count += 1
                        if count == pieces { return }
                    }
                } else if event.kind != .selected, let server = event.server {
                    let stays = scope.includes(server) && event.kind != .removed
                    #expect(stays || states[server.name] != nil, "\(event.kind) of \(server.name) concerns nobody")
                    states[server.name] = stays ? server : nil
                }
                cursor = event.cursor
            }
        }
    }

    private let scopes = [
        ServerScope(host: name("h1")), ServerScope(level: .warning), ServerScope(level: .critical),
        ServerScope(host: name("h2"), level: .unknown), ServerScope(level: .ok),
    ]

    private func wanted(_ fixture: MonitorFixture, _ scope: ServerScope) -> [String] {
        fixture.monitor.states.filter(scope.includes).map { "\($0.name) \($0.headline) \($0.countedLevel as Any)" }
    }

    /// Makes one change of a random server.
    private func change(_ fixture: MonitorFixture, _ random: inout SeededRandom, _ number: Int) throws {
        let server = "s\(random.next() % 4)@h\(random.next() % 3)"
        let level = Level.allCases[Int(random.next() % 4)]
        switch random.next() % 12 {
        case 0: fixture.monitor.add(ServerDefinition(name: name(server), source: "push"))
        case 1: try? fixture.monitor.remove(name(server))
        case 2: _ = try? fixture.monitor.select(name(server))
        case 3: try? fixture.monitor.fail(name(server), "no answer")
        case 4: try? fixture.monitor.silence(name(server), Silence(since: Timestamp(milliseconds: Int64(number))))
        case 5: fixture.monitor.add(ServerDefinition(name: name("h\(number % 3)"), source: "mqtt"))
        default: try? fixture.post("text \(number)", to: server, level: level)
        }
    }

    @Test(
        "shows the wanted servers, whatever happens, and however often it falls behind, breaks off and resumes",
        arguments: 1...20 as ClosedRange<UInt64>)
    func followsScope(seed: UInt64) throws {
        var random = SeededRandom(state: seed)
        let fixture = MonitorFixture(servers: ["s0@h1", "s1@h1", "s0@h2", "h1"], capacities: 16...16)
        for scope in scopes {
            var board = Board(scope: scope)
            var watch = try fixture.watch(.matching(scope))
            for number in 0..<200 {
                for _ in 0..<random.next() % 12 { try change(fixture, &random, number) }
                // A client that is broken off while it reads a snapshot begins with it again.
                let pieces = random.next() % 4 == 0 ? 1 : Int.max
                let before = board
                board.read(watch, pieces: pieces)
                if pieces == 1 || random.next() % 8 == 0 {
                    board = pieces == 1 ? before : board
                    watch = try fixture.watch(
                        .matching(scope), since: board.cursor?.revision, epoch: board.cursor?.epoch ?? .random())
                    board.read(watch)
                }
                let shown = board.states.values.sorted { $0.name < $1.name }
                expectWorst(fixture)
                #expect(
                    shown.map { "\($0.name) \($0.headline) \($0.countedLevel as Any)" } == wanted(fixture, scope),
                    "step \(number) of \(scope)")
            }
        }
    }

    /// The worst server is the one that a search through all would find.
    private func expectWorst(_ fixture: MonitorFixture) {
        let states = fixture.monitor.states
        let worst = states.map(\.severity).max().flatMap { most in states.first { $0.severity == most } }
        let selected = states.first { $0.isSelected }
        let isAsBad = selected.map { $0.severity >= worst?.severity ?? 0 } ?? false
        #expect(fixture.monitor.selectWorst().state?.name == (isAsBad ? selected : worst)?.name)
    }

    @Test("others that change without end are no gap, also for a reader that resumes")
    func noFalseGap() throws {
        let fixture = MonitorFixture(servers: ["a@h1", "b@h2", "c@h2"], capacities: 16...16)
        try fixture.post("bad", to: "c@h2", level: .critical)
        let watches = try [ServerScope(host: name("h1")), ServerScope(level: .critical)].map {
            try fixture.watch(.matching($0))
        }
        #expect(watches.map { $0.lines() } == [["snapshot -"], ["snapshot -"]])
        let cursor = fixture.monitor.cursor.revision
        for number in 0..<100 { try fixture.post("\(number)", to: "b@h2", level: .warning) }
        #expect(watches.map { $0.lines() } == [[], []])
        for scope in [ServerScope(host: name("h1")), ServerScope(level: .critical)] {
            let resumed = try fixture.watch(.matching(scope), since: cursor)
            #expect(resumed.lines() == [])
        }
        try fixture.post("one", to: "a@h1", level: .critical)
        #expect(watches.map { $0.lines() } == [["changed a@h1 one"], ["changed a@h1 one"]])
    }

    @Test("a reader of a level gets the event with which a server leaves it, and a gap has the exact number")
    func leavesLevel() throws {
        let fixture = MonitorFixture(servers: ["a", "b"], capacities: 16...16)
        let watch = try fixture.watch(.matching(ServerScope(level: .warning)))
        #expect(watch.lines() == ["snapshot -"])
        try fixture.post("bad", to: "a", level: .warning)
        try fixture.post("good", to: "a", level: .ok)
        try fixture.post("better", to: "a", level: .ok)
        #expect(watch.lines() == ["changed a bad", "changed a good"])
        for number in 0..<50 {
            try fixture.post("\(number)", to: "a", level: .critical)
            try fixture.post("\(number)", to: "b", level: .ok)
        }
        #expect(watch.lines() == ["gap 50", "snapshot -"])
    }
}
