// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusMonitor
import Testing

@Suite("The load of a server") struct LoadTests {
    private let fixture = MonitorFixture(servers: [])
    private let disk = name("disk")
    private var monitor: StatusMonitor { fixture.monitor }

    init() { monitor.add(ServerDefinition(name: disk, source: "exec", isRefreshable: true)) }

    private func state() throws -> ServerState { try monitor.state(of: disk) }

    @Test("clients may post only if a server's definition allows it; its source always may")
    func postsOfClients() throws {
        let monitor = StatusMonitor()
        let text = try StatusText("Signed In")
        monitor.add(ServerDefinition(name: name("loaded"), source: "exec", isRefreshable: true, takesPosts: false))
        monitor.add(ServerDefinition(name: name("pushed"), source: "push"))
        #expect(throws: LedgerError.takesNoPosts(name("loaded"))) {
            try monitor.post(text, to: name("loaded"), by: .client(nil))
        }
        #expect(try monitor.state(of: name("loaded")).status == nil)
        try monitor.post(text, to: name("loaded"))
        try monitor.post(text, to: name("pushed"), by: .client(nil))
        #expect(monitor.states.allSatisfy { $0.status?.text == text })
    }

    @Test("no refresh begins for a server without a load, because nothing would end it")
    func nothingToLoad() throws {
        monitor.add(ServerDefinition(name: name("pushed"), source: "push"))
        try monitor.beginRefresh(of: name("pushed"))
        #expect(try !monitor.state(of: name("pushed")).isRefreshing)
    }

    @Test("a server is loading until its first load has ended")
    func loading() throws {
        #expect(try state().phase == .loading)
        #expect(try state().isRefreshable)
        try fixture.post("DISK OK", to: "disk")
        #expect(try state().phase == .loaded)
    }

    @Test("a failed load without a status is marked, so that its reason does not look like a good status")
    func failedWithoutStatus() throws {
        try monitor.fail(disk, "no such file")
        #expect(try state().markedHeadline == "no such file [failed]")
    }

    @Test("a reason is one line, no longer than a status, because another process may have written it")
    func longReasons() throws {
        let long = String(repeating: "x", count: 500_000)
        try monitor.fail(disk, long)
        #expect(try state().message?.utf8.count == StatusText.maximumLength)
        try fixture.post("DISK OK", to: "disk")
        try monitor.setMessage(long, of: disk)
        #expect(try state().message?.utf8.count == StatusText.maximumLength)
        try monitor.fail(disk, "a\nb")
        #expect(try state().message == "a\\nb")
    }

    @Test("a failed load keeps the status, and its reason is in the state and the headline")
    func failed() throws {
        try fixture.post("DISK OK", to: "disk")
        let watch = try fixture.watch(.all, updates: true)
        _ = watch.next()
        try monitor.fail(disk, "timed out after 10 s")
        try monitor.fail(disk, "timed out after 10 s")
        #expect(watch.lines() == ["changed disk DISK OK", "updated disk DISK OK"])
        #expect(try state().phase == .failed)
        #expect(try state().markedHeadline == "DISK OK (failed: timed out after 10 s)")
        #expect(try !state().isHealthy)
        try fixture.post("DISK OK", to: "disk")
        #expect(watch.lines() == ["changed disk DISK OK"])
        #expect(try state().message == nil)
    }

    @Test("a result that does not count yet is shown with the status until the next one, and is not a change")
    func uncounted() throws {
        try monitor.setMessage("connection refused", of: disk)
        #expect(try state().message == "no status yet")
        try fixture.post("connected", to: "disk")
        let changes = try fixture.watch(.all)
        _ = changes.next()
        try monitor.setMessage("connection refused", of: disk)
        #expect(try state().message == "connection refused")
        #expect(try state().markedHeadline == "connected")
        try fixture.post("connected", to: "disk")
        #expect(try state().message == nil)
        #expect(changes.lines() == [])
    }

    @Test("a result that does not count yet ends an earlier failure, which is a change")
    func uncountedAfterFailure() throws {
        try fixture.post("connected", to: "disk")
        try monitor.fail(disk, "timed out after 10 s")
        let watch = try fixture.watch(.all)
        _ = watch.next()
        try monitor.setMessage("connection refused", of: disk)
        #expect(try state().phase == .loaded)
        #expect(try state().message == "connection refused")
        #expect(watch.lines() == ["changed disk connected"])
    }

    @Test("a refresh is visible while it runs, once for all callers, and its end is an event after its result")
    func refresh() throws {
        let watch = try fixture.watch(.server(disk))
        _ = watch.next()
        let began = try monitor.beginRefresh(of: disk)
        #expect(began.kind == .refreshing)
        #expect(began.server?.isRefreshing == true)
        try monitor.beginRefresh(of: disk)
        try fixture.post("DISK OK", to: "disk")
        try monitor.endRefresh(of: disk)
        try monitor.endRefresh(of: disk)
        #expect(watch.lines() == ["refreshing disk no status yet", "changed disk DISK OK", "refreshed disk DISK OK"])
        #expect(try !state().isRefreshing)
    }

    @Test("the time of the level is separate from the time of the text")
    func levelChanged() throws {
        func times() throws -> [Int64] {
            let status = try #require(try state().status)
            return [status.levelChangedAt, status.changedAt, status.updatedAt].map(\.milliseconds)
        }
        try fixture.post("1", to: "disk", level: .warning)
        fixture.advance(by: 10)
        try fixture.post("2", to: "disk", level: .warning)
        #expect(try times() == [0, 10, 10])
        fixture.advance(by: 10)
        try fixture.post("2", to: "disk", level: .warning)
        #expect(try times() == [0, 10, 20])
        fixture.advance(by: 10)
        try fixture.post("2", to: "disk", level: .ok)
        #expect(try times() == [30, 30, 30])
    }

    @Test("the headline shows a level that is not ok, and that a status is not current")
    func marks() throws {
        try fixture.post("Signed Out", to: "disk", level: .critical)
        #expect(try state().markedHeadline == "Signed Out [critical]")
        try monitor.fail(disk, "the bus is gone")
        #expect(try state().markedHeadline == "Signed Out [critical] (failed: the bus is gone)")
    }

    @Test("invariant 18: a new description keeps the status and the failure of the load after it")
    func redefined() throws {
        try fixture.post("DISK OK", to: "disk")
        try monitor.fail(disk, "timed out after 10 s")
        try monitor.redefine(ServerDefinition(name: disk, description: "The disk", source: "exec", isRefreshable: true))
        #expect(try state().phase == .failed)
        #expect(try state().message == "timed out after 10 s")
        #expect(try state().status?.text.rawValue == "DISK OK")
        #expect(try state().description == "The disk")
    }

    @Test("invariant 18: a temporarily invalid configuration does not make a loaded status current either")
    func mended() throws {
        try fixture.post("DISK OK", to: "disk")
        try monitor.fail(disk, "timed out after 10 s")
        try monitor.redefine(ServerDefinition(name: disk, source: "exec", isRefreshable: false, failure: "wrong"))
        try monitor.redefine(ServerDefinition(name: disk, source: "exec", isRefreshable: true))
        #expect(try state().phase == .loading)
        #expect(try !state().isHealthy)
        #expect(try state().status?.text.rawValue == "DISK OK")
    }

    @Test("a new description or parent alone is not a change of the server's state")
    func describedAnew() throws {
        try fixture.post("DISK OK", to: "disk")
        let changes = try fixture.watch(.server(disk))
        let updates = try fixture.watch(.server(disk), updates: true)
        for watch in [changes, updates] { #expect(watch.lines() == ["snapshot disk DISK OK"]) }
        for parent in [nil, name("router")] {
            try monitor.redefine(
                ServerDefinition(
                    name: disk, description: "The disk", parent: parent, source: "exec", isRefreshable: true))
            #expect(changes.lines() == [])
            #expect(updates.lines() == ["updated disk DISK OK"])
        }
        #expect(try state().parent == name("router"))
    }

    @Test("a new placeholder is shown by a server that has nothing else to show")
    func newPlaceholder() throws {
        let login = name("login")
        monitor.add(ServerDefinition(name: login, source: "push", placeholder: "Signed Out"))
        try monitor.redefine(ServerDefinition(name: login, source: "push", placeholder: "Nobody"))
        #expect(try monitor.state(of: login).headline == "Nobody")
        try monitor.fail(login, "the bus is gone")
        try monitor.redefine(ServerDefinition(name: login, source: "push", placeholder: "Somebody"))
        #expect(try monitor.state(of: login).headline == "the bus is gone")
    }

    @Test("when the source is replaced, the status is dropped, and is unknown until the new source has loaded")
    func newSource() throws {
        try fixture.post("DISK OK", to: "disk")
        try monitor.redefine(
            ServerDefinition(name: disk, source: "exec", isRefreshable: true), isOfNewSource: true)
        #expect(try state().phase == .loading)
        #expect(try state().status == nil)
        fixture.advance(by: 1000)
        try fixture.post("DISK OK", to: "disk")
        #expect(try state().isHealthy)
        #expect(try state().status?.levelChangedAt == state().status?.updatedAt)
    }

    @Test("a status that the same source loads again does not count, and is marked, until the load has ended")
    func sameSource() throws {
        try fixture.post("DISK OK", to: "disk")
        try monitor.redefine(
            ServerDefinition(name: disk, source: "exec", isRefreshable: true, failure: "no such option"))
        try monitor.redefine(ServerDefinition(name: disk, source: "exec", isRefreshable: true))
        #expect(try state().markedHeadline == "DISK OK (loading)")
        #expect(try state().message == nil)
        #expect(try !state().isHealthy)
    }

    @Test("when a stale status is dropped with its source, nothing is stale any more")
    func staleOfOldSource() throws {
        let login = name("login")
        monitor.add(ServerDefinition(name: login, source: "notify", timeToLive: .seconds(1)))
        try fixture.post("here", to: "login")
        fixture.advance(by: 1000)
        monitor.expire()
        #expect(try monitor.state(of: login).isStale)
        try monitor.redefine(ServerDefinition(name: login, source: "push"), isOfNewSource: true)
        #expect(try !monitor.state(of: login).isStale)
    }

    @Test("if the new source has no load, the old status and its refresh are dropped")
    func newSourceWithoutLoads() throws {
        try fixture.post("DISK FULL", to: "disk", level: .critical)
        try monitor.beginRefresh(of: disk)
        try monitor.redefine(ServerDefinition(name: disk, source: "push"), isOfNewSource: true)
        #expect(try state().phase == .empty)
        #expect(try state().status == nil)
        #expect(try !state().isRefreshing)
    }

    @Test("a reader may wait for a server that is added later")
    func comesLater() throws {
        let watch = try monitor.watch(.server(name("late")), mayComeLater: true) { _ in }
        #expect(watch.lines() == ["snapshot -"])
        monitor.add(ServerDefinition(name: name("late"), source: "push"))
        try fixture.post("here", to: "late")
        #expect(watch.lines() == ["added late no status yet", "changed late here"])
        #expect(throws: LedgerError.noSuchServer(name("never"))) { try fixture.watch(.server(name("never"))) }
    }

    @Test("a reader that continues and may wait learns that its server was removed meanwhile")
    func wasRemoved() throws {
        try fixture.post("fine", to: "disk")
        let cursor = monitor.cursor
        try monitor.remove(disk)
        let watch = try monitor.watch(.server(disk), since: cursor, mayComeLater: true) { _ in }
        #expect(watch.lines() == ["snapshot -"])
    }
}
