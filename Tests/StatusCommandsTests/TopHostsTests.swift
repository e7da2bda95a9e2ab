// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusSupport
import Testing

@testable import StatusCommands

// Several hosts in top.
extension TopModelTests {
    /// Two hosts with a server “db” each, of which that of the second one is critical and selected.
    func hosts() throws -> TopModel {
        var model = TopModel(hosts: [TopHost(name: "web1"), TopHost(name: "web2", options: ["-H", "web2"])])
        model.visibleRows = 9
        model.apply(event(.snapshot, nil, [try server("db"), try server("mail")]))
        model.apply(event(.snapshot, nil, [try server("db", .critical, selected: true)]), of: 1)
        model.place()
        return model
    }

    func rows(_ model: inout TopModel) -> [String] {
        lines(120, 24, &model).dropFirst(2).prefix(3).map {
            String(CellText.plain($0).split(separator: "\r").last ?? "")
        }
    }

    @Test("the servers of several hosts are in one list, with the names of their hosts")
    func severalHosts() throws {
        var model = try hosts()
        #expect(lines(120, 24, &model)[0].contains("3 servers"))
        for (row, start) in zip(rows(&model), ["* db@web2    up", "  db@web1    up", "  mail@web1  up"]) {
            #expect(row.hasPrefix(start), "\(row)")
        }
    }

    @Test("keys act on the host of the server under the bar")
    func hostOfAction() throws {
        var model = try hosts()
        let db = try #require(ServerName("db"))
        #expect(press([.character("r")], &model) == [.refresh(TopServer(host: 1, name: db))])
        _ = press([.character("!"), .character("r")], &model)
        #expect(model.command == "statusctl -H web2 refresh db")
        #expect(press([.down, .character("*")], &model) == [.select(TopServer(host: 0, name: db))])
    }

    @Test("a host that is away keeps its rows, which are stale, in their places; the title and the last line say so")
    func hostAway() throws {
        var model = try hosts()
        model.apply(.away("the connection to web1 broke; connecting again"), of: 0, now: Timestamp(milliseconds: 0))
        let shown = lines(120, 24, &model).map(CellText.plain)
        #expect(shown[0].contains("1 critical  2 unknown  web1 disconnected since "))
        #expect(shown[23].hasPrefix("the connection to web1 broke"))
        #expect(rows(&model)[1].hasPrefix("  db@web1    up"))
        #expect(rows(&model)[1].contains("stale"))
        #expect(!rows(&model)[0].contains("stale"))
        #expect(model.dueStrip(of: 0, now: Timestamp(milliseconds: 0)) == nil)
        #expect(model.dueStrip(of: 1, now: Timestamp(milliseconds: 0)) != nil)
        model.apply(event(.snapshot, nil, [try server("db"), try server("mail")]), of: 0)
        #expect(!lines(120, 24, &model).joined().contains("stale"))
        #expect(model.message == nil)
    }

    @Test("a host that never answered has no rows, and the title says so")
    func neverReached() throws {
        var model = TopModel(hosts: [TopHost(name: "web1"), TopHost(name: "web2")])
        model.apply(event(.snapshot, nil, [try server("db")]))
        #expect(lines(120, 24, &model)[0].contains("web2 connecting…"))
        model.apply(.away("cannot reach it", isRefusal: false), of: 1)
        #expect(lines(120, 24, &model)[0].contains("web2 not reached yet"))
        #expect(lines(120, 24, &model)[23].contains("cannot reach it"))
    }

    @Test("strips are those of the server of one host; a host without a history does not end those of the other")
    func stripsOfHosts() throws {
        var model = try hosts()
        _ = lines(120, 24, &model)
        let now = Timestamp(milliseconds: 0)
        model.strips.take(.unavailable, to: try #require(model.dueStrip(of: 1, now: now)), now: now)
        #expect(model.dueStrip(of: 1, now: now) == nil)
        let request = try #require(model.dueStrip(of: 0, now: now))
        model.strips.take(.levels(Array(repeating: .warning, count: 24)), to: request, now: now)
        #expect(rows(&model)[1].contains("▄▄"))
        #expect(!rows(&model)[0].contains("▄▄"))
    }
}
