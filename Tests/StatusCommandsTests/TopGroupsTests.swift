// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusSupport
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
        #expect(model.shown.map(\.name.rawValue) == ["c", "a", "b"])
    }
}

extension String {
    fileprivate var trimmed: String {
        String(reversed().drop { $0 == " " }.reversed())
    }
}
