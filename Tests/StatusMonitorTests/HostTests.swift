// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusMonitor
import TestSupport
import Testing

@Suite("What other hosts report")
struct HostTests {
    private let fixture = MonitorFixture(servers: ["local"], capacities: 256...256)
    private var monitor: StatusMonitor { fixture.monitor }
    private let web = name("web1")

    private func hear(_ state: HostState, _ epoch: Int = 1, machine: String = "m1", isLive: Bool = true) throws {
        let report = HostReport(
            state: state, epoch: epoch, machine: machine, clockDifference: isLive ? .zero : nil)
        try monitor.report(report, of: web, limit: 1)
    }

    /// The state of a server on its host.
    private static func server(
        _ server: String, _ text: String = "up", _ level: Level = .ok, revision: Int = 1, at time: Int64 = 5
    ) throws -> ServerState {
        var state = ServerState(name: name(server), source: "unit", phase: .loaded)
        state.status = Status(
            text: try StatusText(text), level: level, changedAt: Timestamp(milliseconds: time),
            updatedAt: Timestamp(milliseconds: time))
        state.revision = revision
        return state
    }

    private func report(_ server: String, _ text: String = "up", _ level: Level = .ok, revision: Int, epoch: Int = 1)
        throws
    {
        try report(try Self.server(server, text, level, revision: revision), epoch: epoch)
    }

    private func report(_ state: ServerState, epoch: Int = 1) throws {
        try monitor.report(state, of: web, epoch: epoch, limit: 10_000)
    }

    private func state(_ server: String) throws -> ServerState { try monitor.state(of: name(server)) }

    // MARK: Servers

    @Test("a server of another host is a server, with the text, level and times of its host")
    func server() throws {
        fixture.advance(by: 1000)
        try hear(.ready)
        let watch = try fixture.watch(.all)
        _ = watch.lines()
        try report("db", "slow", .warning, revision: 1)
        try monitor.select(name("db@web1"))
        #expect(watch.lines() == ["added db@web1 no status yet", "changed db@web1 slow", "selected db@web1 slow"])
        let state = try state("db@web1")
        #expect(state.status?.changedAt == Timestamp(milliseconds: 5))
        #expect(state.isCurrent && !state.isRefreshable && state.source == "mqtt")
        #expect(state.group == web && state.parent == web)
    }

    @Test("a report that is older than what is known is dropped, and the same report again is no event")
    func order() throws {
        try hear(.ready)
        try report("db", "new", revision: 7)
        let watch = try fixture.watch(.all, updates: true)
        _ = watch.lines()
        try report("db", "old", revision: 6)
        try report("db", "new", revision: 7)
        #expect(watch.lines() == [])
        try hear(.ready, 2)
        try report("db", "after", revision: 1, epoch: 2)
        try report("db", "late", revision: 9, epoch: 1)
        #expect(try state("db@web1").headline == "after")
        #expect(try state("db@web1").isCurrent)
    }

    @Test("its group and parent are those on its host, and groups of this host come first")
    func relations() throws {
        try hear(.ready)
        var member = try Self.server("db")
        (member.group, member.parent) = (name("all"), name("router"))
        try report(member)
        #expect(try state("db@web1").group == name("all@web1"))
        #expect(try state("db@web1").parent == name("router@web1"))
        monitor.add(ServerDefinition(name: name("databases"), source: "group"))
        monitor.setGroups([name("databases"): GroupRule(names: [], patterns: ["db@*"])])
        #expect(try state("db@web1").group == name("databases"))
        #expect(try state("databases").headline == "1 ok")
    }

    @Test("a silence begins and ends with that on its host")
    func silence() throws {
        try hear(.ready)
        var server = try Self.server("db")
        server.silence = Silence(since: Timestamp(milliseconds: 3), user: 1000, reason: "new disk")
        try report(server)
        #expect(try state("db@web1").silence == Silence(since: Timestamp(milliseconds: 3), reason: "new disk"))
        // A silence of this host stays until that on its host changes.
        try monitor.silence(name("db@web1"), nil)
        server.revision = 2
        try report(server)
        #expect(try state("db@web1").silence == nil)
        (server.revision, server.silence) = (3, Silence(since: Timestamp(milliseconds: 4)))
        try report(server)
        #expect(try state("db@web1").silence != nil)
        (server.revision, server.silence) = (4, nil)
        try report(server)
        #expect(try state("db@web1").silence == nil)
    }

    @Test("clients cannot post its status")
    func posts() throws {
        try hear(.ready)
        try report("db", revision: 1)
        #expect(throws: LedgerError.takesNoPosts(name("db@web1"))) {
            try monitor.post(try StatusText("down"), to: name("db@web1"), by: .client(nil))
        }
    }

    @Test("a server that comes before its host is stale until the host is there")
    func early() throws {
        try report("db", "slow", .warning, revision: 1)
        #expect(try state("db@web1").isStale)
        #expect(monitor.host(web)?.state == .lost)
        try hear(.ready)
        #expect(try state("db@web1").isCurrent)
        #expect(try state("web1").isHealthy)
        // It is not removed while it is reported, even if its host is not.
        for revision in 2..<6 {
            #expect(monitor.endReportPass() == [])
            try report("db", "slow", .warning, revision: revision)
        }
    }

    @Test("a report is refused of a name that is taken or too long, and beyond the limits")
    func refusals() throws {
        #expect(throws: HostReportError.full(limit: 0)) {
            try monitor.report(HostReport(state: .ready, epoch: 1), of: web, limit: 0)
        }
        try hear(.ready)
        monitor.add(ServerDefinition(name: name("db@web1"), source: "push"))
        #expect(throws: HostReportError.isLocal(name("db@web1"))) { try report("db", revision: 1) }
        let long = String(repeating: "a", count: 60)
        #expect(throws: HostReportError.nameTooLong(name(long), host: web)) { try report(long, revision: 1) }
        #expect(throws: HostReportError.full(limit: 0)) {
            try monitor.report(try Self.server("x"), of: web, epoch: 1, limit: 0)
        }
        for number in 0..<1024 { try report("s\(number)", revision: 1) }
        #expect(throws: HostReportError.tooManyServers(web, limit: 1024)) { try report("more", revision: 1) }
        try report("s5", "changed", revision: 2)
        #expect(try state("s5@web1").headline == "changed")
    }

    // MARK: Presence

    @Test("a host is a server of its name", arguments: [HostState.lost, .stopped])
    func presence(_ end: HostState) throws {
        try hear(.ready)
        #expect(try state("web1").isHealthy)
        let watch = try fixture.watch(.server(web))
        _ = watch.lines()
        try hear(.ready)
        #expect(watch.lines() == [])
        try hear(end)
        #expect(try state("web1").countedLevel == (end == .lost ? .critical : .unknown))
        #expect(watch.lines().count == 1)
    }

    @Test(
        "the servers of a host that is lost or stopped are stale and keep their text",
        arguments: [HostState.lost, .stopped])
    func stale(_ end: HostState) throws {
        try hear(.ready)
        try report("db", "slow", .warning, revision: 1)
        try hear(end)
        #expect(try state("db@web1").isStale)
        #expect(try state("db@web1").headline == "slow")
        #expect(try state("db@web1").status?.changedAt == Timestamp(milliseconds: 5))
        // What comes of a connection that has ended is late.
        try hear(.ready)
        #expect(monitor.host(web)?.state == end)
        // Each server is current again once it was reported by the new connection.
        try hear(.ready, 2)
        #expect(try state("db@web1").isStale)
        try report("db", "slow", .warning, revision: 1, epoch: 2)
        #expect(try state("db@web1").isCurrent)
    }

    @Test("the will of an earlier connection comes too late")
    func lateWill() throws {
        try hear(.ready, 1)
        try hear(.ready, 2)
        try report("db", revision: 1, epoch: 2)
        try hear(.lost, 1)
        #expect(monitor.host(web)?.state == .ready)
        #expect(try state("db@web1").isCurrent)
    }

    @Test("a server that was stale on its host is stale")
    func staleThere() throws {
        try hear(.ready)
        var server = try Self.server("db")
        server.isStale = true
        try report(server)
        try hear(.ready)
        #expect(try state("db@web1").isStale)
    }

    @Test("a host that is not heard for three minutes is lost, until it is heard again")
    func silentHost() throws {
        try hear(.ready)
        try report("db", revision: 1)
        for _ in 0..<10 {
            fixture.advance(by: 60_000)
            monitor.expire()
            try hear(.ready)
        }
        #expect(try state("db@web1").isCurrent)
        fixture.advance(by: 184_000)
        monitor.expire()
        #expect(monitor.host(web)?.state == .ready)
        fixture.advance(by: 1000)
        monitor.expire()
        #expect(monitor.host(web)?.state == .lost)
        #expect(try state("db@web1").isStale)
        #expect(try state("web1").headline == "lost: not heard for three minutes")
        try hear(.ready, isLive: false)
        #expect(monitor.host(web)?.state == .lost)
        try hear(.ready)
        #expect(try state("db@web1").isCurrent)
        #expect(try state("web1").isHealthy)
    }

    @Test("what a broker has kept does not tell that a host is still there")
    func keptReport() throws {
        try hear(.ready, isLive: false)
        try report("db", revision: 1)
        fixture.advance(by: 100_000)
        try hear(.ready, isLive: false)
        fixture.advance(by: 85_000)
        monitor.expire()
        #expect(monitor.host(web)?.state == .lost)
        #expect(try state("db@web1").isStale)
    }

    @Test("a report that was under way for long does not make the clock of a host look late")
    func clock() throws {
        for difference in [-7000, 2, 3, -900] {
            let report = HostReport(state: .ready, epoch: 1, clockDifference: .milliseconds(difference))
            try monitor.report(report, of: web, limit: 1)
        }
        #expect(monitor.host(web)?.clockDifference == .milliseconds(3))
    }

    @Test("another machine of the same name is refused while the first one is ready")
    func machines() throws {
        try hear(.ready, 1, machine: "m1")
        #expect(throws: HostReportError.otherMachine(web)) { try hear(.ready, 2, machine: "m2") }
        #expect(throws: HostReportError.otherMachine(web)) { try hear(.lost, 2, machine: "m2") }
        #expect(monitor.host(web)?.state == .ready)
        try hear(.lost, 1, machine: "m1")
        try hear(.ready, 2, machine: "m2")
        #expect(monitor.host(web)?.state == .ready)
    }

    @Test("a configured server of a host's name stays what it is")
    func configuredHost() throws {
        monitor.add(ServerDefinition(name: web, source: "ping"))
        try monitor.post(try StatusText("in 2 ms"), to: web)
        try hear(.ready)
        try report("db", revision: 1)
        try hear(.lost)
        #expect(try state("web1").headline == "in 2 ms")
        #expect(try state("db@web1").isStale)
    }

    // MARK: Passes

    @Test("what was in neither of the last two passes is removed, and what was in one of them stays")
    func passes() throws {
        try hear(.ready)
        for server in ["a", "b", "c"] { try report(server, revision: 1) }
        #expect(monitor.endReportPass() == [])
        try hear(.ready)
        try report("a", revision: 1)
        #expect(monitor.endReportPass() == [])
        try hear(.ready)
        try report("b", revision: 1)
        #expect(monitor.endReportPass() == [name("c@web1")])
        try hear(.ready)
        #expect(monitor.endReportPass() == [name("a@web1")])
        #expect(monitor.endReportPass() == [name("b@web1")])
        #expect(monitor.endReportPass() == [web])
        #expect(monitor.states.map(\.name) == [name("local")])
        #expect(monitor.hostNames.isEmpty && monitor.reportedServerCount == 0)
    }

    @Test("a server of which the broker keeps an older state than the newest is not removed")
    func olderStates() throws {
        try hear(.ready)
        try report("db", "new", revision: 7)
        for _ in 0..<3 {
            try hear(.ready)
            try report("db", "old", revision: 6)
            #expect(monitor.endReportPass() == [])
        }
        #expect(try state("db@web1").headline == "new")
    }

    @Test("a server that its host does not have any more is removed, and so is a host with its servers")
    func removals() throws {
        try hear(.ready)
        for server in ["a", "b"] { try report(server, revision: 1) }
        monitor.removeReported(name("a"), of: web)
        #expect(monitor.reportedServerCount == 2)
        try monitor.report(nil, of: web, limit: 0)
        #expect(monitor.states.map(\.name) == [name("local")])
    }

    // MARK: Random histories

    /// A host that changes, disconnects and connects again, and its messages, which come late, twice and mixed up.
    private struct Player {
        var random: SeededRandom
        var epoch = 1
        var state = HostState.ready
        var revision = 0
        var servers: [String: ServerState] = [:]
        var messages: [Message] = []

        enum Message {
            case host(HostState, Int)
            case server(ServerState, Int)
        }

        mutating func step() throws {
            switch Int.random(in: 0..<10, using: &random) {
            case 0:
                state = state == .ready ? [.lost, .stopped].randomElement(using: &random) ?? .lost : .ready
                if state == .ready { epoch += 1 }
                messages.append(.host(state, epoch))
                if state == .ready { messages += servers.values.map { .server($0, epoch) } }
            case 1: messages.append(.host(state, epoch))
            default:
                guard state == .ready, let server = ["a", "b", "c"].randomElement(using: &random) else { return }
                revision += 1
                let level = Level.allCases.randomElement(using: &random) ?? .ok
                servers[server] = try HostTests.server(server, "text \(revision)", level, revision: revision)
                messages += servers[server].map { [.server($0, epoch)] } ?? []
            }
        }
    }

    @Test("once all has come, it is as on its host, whatever came late, twice or mixed up", arguments: 0..<200)
    func histories(_ seed: Int) throws {
        var player = Player(random: SeededRandom(state: UInt64(seed)))
        player.messages = [.host(.ready, 1)]
        for _ in 0..<40 { try player.step() }
        var messages = player.messages + player.messages.filter { _ in Bool.random(using: &player.random) }
        messages.shuffle(using: &player.random)
        for message in messages {
            switch message {
            case .host(let state, let epoch): try hear(state, epoch)
            case .server(let state, let epoch): try report(state, epoch: epoch)
            }
        }
        #expect(monitor.host(web)?.state == player.state)
        for (server, there) in player.servers {
            let here = try state("\(server)@web1")
            #expect(here.status == there.status)
            #expect(here.isStale == (player.state != .ready))
        }
        #expect(monitor.host(web)?.servers == player.servers.count)
    }
}
