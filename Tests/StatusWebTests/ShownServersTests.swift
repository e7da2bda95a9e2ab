// SPDX-License-Identifier: Apache-2.0

#if Web
import StatusModel
import TestSupport
import Testing

@testable import StatusWeb

@Suite("Which servers of a hub are shown") struct ShownServersTests {
    private func server(_ name: String, _ level: Level = .ok, source: String = Host.source) throws -> ServerState {
        var state = ServerState(name: try #require(ServerName(name)), source: source, phase: .loaded)
        let time = Timestamp(milliseconds: 0)
        state.status = Status(text: try StatusText("up"), level: level, changedAt: time, updatedAt: time)
        return state
    }

    /// A server of this host, and 1,000 hosts with two servers each.
    private func hub() throws -> ShownServers {
        let hosts = try (0..<1000).flatMap { host in
            try [server("web\(host)")] + ["a", "b"].map { try server("\($0)@web\(host)") }
        }
        return ShownServers(try [server("local", source: "push")] + hosts)
    }

    private func names(_ servers: ShownServers) -> Set<String> {
        Set(servers.states.keys.map(\.rawValue).filter { $0.contains("@") || $0 == "local" })
    }

    @Test("up to 2,000 servers, all are shown; with more, those of this host, the hosts, and what is not ok elsewhere")
    func manyServers() throws {
        var few = ShownServers(try (0..<2000).map { try server("a@web\($0)") })
        #expect((few.states.count, few.isHub) == (2000, false))
        #expect(few.note(try server("b@web0", .critical)) == .others)
        #expect(few.states.keys.map(\.rawValue) == ["b@web0"])

        var hub = try hub()
        #expect((hub.isHub, hub.count, hub.states.count) == (true, 3001, 1001))
        #expect(names(hub) == ["local"])
        #expect(hub.count(of: .ok) == 3001)
        #expect(hub.note(try server("a@web7")) == .unseen)
        #expect(hub.note(try server("a@web7", .warning)) == .shown(hidden: []))
        #expect(hub.takeTouchedHosts().map(\.rawValue) == ["web7"])
        #expect((hub.count(of: .ok), hub.count(of: .warning)) == (3000, 1))
        let name = try #require(ServerName("a@web7"))
        #expect(hub.note(try server("a@web7")) == .shown(hidden: [name]))
        #expect(hub.remove(name) == .unseen)
        #expect((hub.count, hub.contains(name)) == (3000, false))
    }

    @Test("the selected server is shown while it is selected")
    func selection() throws {
        var (hub, selected) = (try hub(), try server("a@web1"))
        selected.isSelected = true
        #expect(hub.select(selected) == .shown(hidden: []))
        #expect(names(hub) == ["local", "a@web1"])
        #expect(hub.select(nil) == .shown(hidden: [selected.name]))
        #expect(names(hub) == ["local"])
    }

    @Test("of more than 1,000 servers that are not ok, the worst are shown, and those for which there is room again")
    func worst() throws {
        var hub = try hub()
        for host in 0..<1000 { #expect(hub.note(try server("a@web\(host)", .warning)) == .shown(hidden: [])) }
        #expect(hub.note(try server("b@web1", .warning)) == .unseen)
        guard case .shown(let hidden) = hub.note(try server("b@web2", .critical)) else {
            Issue.record("a critical server is not shown")
            return
        }
        #expect((hidden.count, hub.unshownCount) == (1, 2))
        #expect(hub.missing(limit: 64).isEmpty)
        #expect(hub.note(try server("b@web2")) == .shown(hidden: [try #require(ServerName("b@web2"))]))
        let missing = hub.missing(limit: 64)
        #expect(missing.count == 1)
        #expect(hub.mayFill(missing[0]))
        #expect(hub.note(try server(missing[0].rawValue, .warning)) == .shown(hidden: []))
        #expect(hub.unshownCount == 1)
    }

    @Test("after any changes, the numbers are right, and the worst are shown as far as there is room")
    func anyChanges() throws {
        var (hub, random) = (try hub(), SeededRandom(state: 46))
        var levels: [ServerName: Level] = [:]
        for state in hub.states.values { levels[state.name] = .ok }
        for host in 0..<1000 { for name in ["a", "b"] { levels[try server("\(name)@web\(host)").name] = .ok } }
        for _ in 0..<20_000 {
            let name = "\(Bool.random(using: &random) ? "a" : "b")@web\(Int.random(in: 0..<1000, using: &random))"
            let level = try #require(Level.allCases.randomElement(using: &random))
            let state = try server(name, level)
            let isRemoved = Int.random(in: 0..<20, using: &random) == 0
            _ = isRemoved ? hub.remove(state.name) : hub.note(state)
            levels[state.name] = isRemoved ? nil : level
            for missing in hub.missing(limit: 2) where hub.mayFill(missing) {
                _ = hub.note(try server(missing.rawValue, try #require(levels[missing])))
            }
        }
        for level in Level.allCases { #expect(hub.count(of: level) == levels.values.count { $0 == level }) }
        let shown = hub.states.keys.filter { $0.host != nil }
        let troubles = levels.filter { $0.key.host != nil && $0.value != .ok }
        #expect(shown.count == min(1000, troubles.count))
        #expect(hub.unshownCount == troubles.count - shown.count)
        #expect(shown.allSatisfy { levels[$0] == hub.states[$0]?.countedLevel })
        let best = shown.compactMap { levels[$0]?.severity }.min() ?? 0
        #expect(troubles.filter { !shown.contains($0.key) }.allSatisfy { $0.value.severity <= best })
    }
}
#endif
