// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusInterface
import StatusModel
import StatusMonitor
import TestSupport
import Testing

@testable import StatusDaemon

@Suite("The registry after a restart", .timeLimit(.minutes(5)))
@EventLoop struct RestoredRegistryTests {
    private let fixture: DaemonFixture

    init() throws { fixture = try DaemonFixture() }

    @Test("continues with configured servers and with those that were added by posts, without an event")
    func servers() throws {
        let text = "{ accept: any, servers: { a: { push: true } } }"
        try fixture.apply(text)
        try fixture.post("Signed In", to: "a")
        try fixture.post("hello", to: "guest")
        let second = try fixture.restarted()
        let before = second.monitor.cursor
        try second.apply(text)
        #expect(second.monitor.cursor == before)
        #expect(second.state("a")?.markedHeadline == "Signed In (before restart)")
        #expect(second.state("guest")?.markedHeadline == "hello (before restart)")
        #expect(second.hasNotifySocket("guest"))
        try second.registry.forget(try #require(ServerName("guest")))
    }

    @Test("removes servers that are no longer configured, and keeps servers that were configured since")
    func otherConfiguration() throws {
        try fixture.apply("{ accept: any, servers: { a: { push: true }, b: { push: true } } }")
        try fixture.post("1", to: "a")
        try fixture.post("2", to: "guest")
        let second = try fixture.restarted()
        try second.apply("servers: { guest: { push: true }, c: { push: true } }")
        #expect(second.monitor.states.map(\.name.rawValue) == ["c", "guest"])
        #expect(second.state("guest")?.headline == "2")
        #expect(throws: MonitorError.self) { try second.registry.forget(try #require(ServerName("guest"))) }
    }

    @Test("drops the status of another source, and keeps it if only options have changed")
    func otherSource() throws {
        try fixture.apply("servers: { a: { push: true }, b: { push: true } }")
        for server in ["a", "b"] { try fixture.post("Signed In", to: server) }
        let second = try fixture.restarted()
        try second.apply("servers: { a: { notify: true }, b: { push: true, ttl: 1h, description: B } }")
        #expect(second.state("a")?.status == nil)
        #expect(second.state("b")?.headline == "Signed In")
        #expect(second.state("b")?.description == "B")
    }

    @Test("keeps the status of a server whose configuration is invalid, until it is corrected")
    func invalid() throws {
        try fixture.apply("servers: { a: { push: true } }")
        try fixture.post("before", to: "a")
        let second = try fixture.restarted()
        try second.apply("servers: { a: { push: no } }")
        #expect(second.state("a")?.phase == .failed)
        let third = try second.restarted()
        try third.apply("servers: { a: { push: no } }")
        #expect(third.state("a")?.status?.text.rawValue == "before")
        try third.apply("servers: { a: { push: true } }")
        #expect(third.state("a")?.headline == "before")
        #expect(third.state("a")?.phase == .loaded)
    }

    @Test("keeps the last selection, unless the configuration selects another server now")
    func selection() throws {
        let servers = "servers: { a: { push: true }, b: { push: true } } }"
        try fixture.apply("{ select: a, " + servers)
        try fixture.registry.select(ServerName("b"))
        let second = try fixture.restarted()
        try second.apply("{ select: a, " + servers)
        #expect(try second.monitor.selectedState().name.rawValue == "b")
        let third = try second.restarted()
        try third.apply("{ select: b, " + servers)
        try third.monitor.select(ServerName("b"))
        let fourth = try third.restarted()
        try fourth.apply("{ select: a, " + servers)
        #expect(try fourth.monitor.selectedState().name.rawValue == "a")
    }

    @Test("forgets a time to live if the user that requested it is unknown")
    func timeToLive() throws {
        try fixture.apply("servers: { a: { notify: true } }")
        let name = try #require(ServerName("a"))
        try fixture.post("Serving", to: "a")
        try fixture.monitor.setTimeToLive(.seconds(60), of: name)
        let second = try fixture.restarted()
        try second.apply("servers: { a: { notify: true } }")
        #expect(try second.monitor.ownTimeToLive(of: name) == nil)
    }
}
