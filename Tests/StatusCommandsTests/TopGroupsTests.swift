// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusSupport
import TestSupport
import Testing

@testable import StatusCommands

// Groups in top.
extension TopModelTests {
    func member(_ name: String, of group: String, _ level: Level = .ok, source: String = "push") throws -> ServerState {
        var state = try server(name, level)
        state.source = source
        state.group = ServerName(group)
        return state
    }

    func group(_ name: String, _ level: Level = .ok) throws -> ServerState {
        var state = try server(name, level, text: "of \(name)")
        state.source = "group"
        return state
    }

    /// The names on the screen, with their indentation, and what is after them up to the level.
    func names(_ model: inout TopModel) -> [String] {
        lines(100, 24, &model).dropFirst(2).prefix(model.shown.count).map {
            let line = CellText.plain($0)
            return String((line.split(separator: "\r").last ?? "").dropFirst(2).prefix(22)).trimmed
        }
    }

    /// Two groups, of which one is in the other, and two more servers.
    func groups() throws -> TopModel {
        var model = TopModel()
        let servers = try [
            server("alone"), group("site"), member("web", of: "site", .warning), group("inner"),
            server("zoo", .warning),
            member("db", of: "inner", .critical), member("lost", of: "gone"),
        ]
        apply(event(.snapshot, nil, servers), &model)
        apply(event(.changed, try member("inner", of: "site", source: "group")), &model)
        return model
    }

    @Test("members are below their group, which stands where the worst of them would; by name, it keeps its place")
    func members() throws {
        var model = try groups()
        #expect(
            names(&model).map { $0.prefix(8) } == [
                "site    ", "  web   ", "  inner ", "    db  ", "zoo     ", "alone   ", "lost    ",
            ])
        _ = press([.character("o")], &model)
        #expect(model.shown.map(\.name.rawValue) == ["alone", "lost", "site", "inner", "db", "web", "zoo"])
    }

    @Test("a space hides the members of a group, which then names the worst one, and shows them again")
    func folding() throws {
        var model = try groups()
        _ = press([.down, .down, .down, .character(" ")], &model)
        #expect(model.current?.name.rawValue == "inner", "a member folds its group")
        #expect(names(&model)[2].hasPrefix("  inner (+1)"))
        _ = press([.up, .up, .character(" ")], &model)
        let shown = lines(100, 24, &model).map(CellText.plain)
        #expect(model.shown.map(\.name.rawValue) == ["site", "zoo", "alone", "lost"])
        #expect(shown[2].contains("site (+3)"))
        #expect(shown[2].contains("of site (critical: db)"))
        #expect(shown[0].contains("7 servers  1 critical  2 warning"), "the title counts all")
        _ = press([.character(" ")], &model)
        #expect(model.shown.count == 6)
        _ = press([.end, .character(" ")], &model)
        #expect(model.message == "not in a group")
    }

    @Test("a filter finds hidden members, too, and shows them without their groups")
    func filteredMembers() throws {
        var model = try groups()
        _ = press([.character(" "), .character("/"), .character("d"), .character("b")], &model)
        #expect(names(&model).map { $0.prefix(3) } == ["db "])
    }

    @Test("groups that contain each other are shown, too")
    func circle() throws {
        var model = TopModel()
        let servers = try [member("a", of: "b", source: "group"), member("b", of: "a", source: "group"), server("c")]
        apply(event(.snapshot, nil, servers), &model)
        #expect(model.shown.map(\.name.rawValue) == ["a", "b", "c"])
    }

    private func labels(_ model: TopModel) -> [String] { model.shown.map { model.row($0).label } }

    /// A host and its servers, as a hub follows them.
    func host(_ name: String, _ level: Level = .ok, servers: Int = 10) throws -> [ServerState] {
        var host = try server(name, level)
        host.source = "mqtt"
        return try [host] + (0..<servers).map { try member("s\($0)@\(name)", of: name, source: "mqtt") }
    }

    @Test("the servers of a host are below it, as the members of any server that others name as their group")
    func followedHosts() throws {
        var model = TopModel()
        apply(
            event(.snapshot, nil, try host("web1", servers: 2) + [server("alone")] + host("web2", servers: 0)), &model)
        #expect(labels(model) == ["alone", "web1", "  s0@web1", "  s1@web1", "web2"])
        apply(event(.removed, try server("web1")), &model)
        #expect(labels(model) == ["alone", "s0@web1", "s1@web1", "web2"])
    }

    @Test("with many servers, hosts begin folded, unless a server is worse than its host; a key unfolds them")
    func manyHosts() throws {
        var model = TopModel()
        let names = (10..<60).map { "web\($0)" }
        apply(event(.snapshot, nil, try names.flatMap { try host($0) }), &model)
        #expect(labels(model) == names.map { "\($0) (+10)" })
        apply(event(.changed, try member("s3@web20", of: "web20", .critical, source: "mqtt")), &model)
        #expect(labels(model).prefix(3) == ["web20", "  s3@web20", "  s0@web20"])
        #expect(model.shown.count == 60)

        // The servers of a lost host are not worse than the host.
        var lost = try host("web30", .critical)
        for index in lost.indices.dropFirst() { lost[index].isStale = true }
        for server in lost { apply(event(.changed, server), &model) }
        #expect(labels(model).contains("web30 (+10)"))

        // The bar is on a server of a host that is well again, and keeps it from being folded.
        _ = press([.home, .down, .down], &model)
        #expect(model.current?.name.rawValue == "s0@web20")
        apply(event(.changed, try member("s3@web20", of: "web20", source: "mqtt")), &model)
        #expect(model.current?.name.rawValue == "s0@web20")
        _ = press([.home], &model)
        #expect(labels(model) == (["web30"] + names.filter { $0 != "web30" }).map { "\($0) (+10)" })

        _ = press([.end, .character(" ")], &model)
        #expect(labels(model).suffix(2) == ["  s8@web59", "  s9@web59"])
        #expect(press([.character("n")], &model) == [])
        #expect(model.current?.name.rawValue == "web30")
    }

    @Test("the list after any changes is the one that a new snapshot would give")
    func anyChanges() throws {
        var random = SeededRandom(state: 46)
        let names = (0..<30).map { "n\($0)" }
        for order in 0..<3 {
            var (model, states) = (TopModel(), [ServerName: ServerState]())
            model.staysFirst = false
            _ = press(Array(repeating: .character("o"), count: order), &model)
            for _ in 0..<1000 {
                var state = try server(try #require(names.randomElement(using: &random)))
                state.status?.level = try #require(Level.allCases.randomElement(using: &random))
                state.group = Bool.random(using: &random) ? ServerName(names.randomElement(using: &random) ?? "") : nil
                let isRemoved = Int.random(in: 0..<4, using: &random) == 0
                states[state.name] = isRemoved ? nil : state
                model.apply(event(isRemoved ? .removed : .changed, state))
                if Bool.random(using: &random) { model.place() }
            }
            model.place()
            var other = TopModel()
            _ = press(Array(repeating: .character("o"), count: order), &other)
            apply(event(.snapshot, nil, Array(states.values)), &other)
            #expect(labels(model) == labels(other))
            #expect(Set(model.shown.map(\.name)) == Set(states.keys))
            for level in Level.allCases {
                #expect(model.list.count(of: level) == states.values.count { $0.countedLevel == level })
            }
        }
    }
}

extension String {
    fileprivate var trimmed: String {
        String(reversed().drop { $0 == " " }.reversed())
    }
}
