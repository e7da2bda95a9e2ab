// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import StatusInterface
import StatusModel
import StatusMonitor
import TestSupport
import Testing

@testable import StatusDaemon

@Suite("The registry of servers", .timeLimit(.minutes(5)))
@EventLoop struct ServerRegistryTests {
    private let fixture: DaemonFixture

    init() throws { fixture = try DaemonFixture() }

    @Test("applies a configuration: adds, changes and removes servers, and touches no others")
    func plan() throws {
        #expect(
            try fixture.apply("servers: { a: { push: true }, b: { notify: true }, c: { push: true } }") == [
                "+a", "+b", "+c",
            ])
        try fixture.post("kept", to: "a")
        #expect(fixture.hasNotifySocket("b"))
        let text = "servers: { a: { push: true }, b: { push: true }, d: { push: true } }"
        #expect(try fixture.apply(text) == ["+d", "~b", "-c"])
        #expect(!fixture.hasNotifySocket("b"))
        #expect(fixture.state("a")?.headline == "kept")
        #expect(fixture.state("c") == nil)
        #expect(try fixture.apply("# A line more\n" + text) == [])
    }

    @Test(
        "a server with an invalid configuration is failed and takes no posts, and gets its status back once corrected"
    )
    func wrong() throws {
        try fixture.apply("servers: { a: { push: true } }")
        try fixture.post("before", to: "a")
        #expect(try fixture.apply("servers: { a: { push: no } }") == ["~a"])
        #expect(fixture.state("a")?.phase == .failed)
        #expect(throws: MonitorError.self) { try fixture.post("now", to: "a") }
        #expect(try fixture.apply("servers: { a: { push: true } }") == ["~a"])
        #expect(fixture.state("a")?.headline == "before")
        #expect(fixture.state("a")?.phase == .loaded)
    }

    @Test("a source that cannot be started is retried at each reload, and is a change only once it starts")
    func startFailure() throws {
        let text = "servers: { a: { notify: { users: [nobody-here] } } }"
        #expect(try fixture.apply(text) == ["+a"])
        #expect(fixture.state("a")?.message == "unknown user “nobody-here”; create it and run “statusctl reload”")
        #expect(
            fixture.warnings.map(\.reason) == [
                "cannot be followed: unknown user “nobody-here”; create it and run “statusctl reload”"
            ])
        #expect(try fixture.apply(text) == [])
        #expect(try fixture.apply("servers: { a: { notify: { users: [alice] } } }") == ["~a"])
        #expect(fixture.hasNotifySocket("a"))
    }

    @Test("a failed start is not logged again after the source was started")
    func repeatedUntilStarted() throws {
        for _ in 0..<2 { try fixture.apply("servers: { a: { notify: { users: [nobody-here] } } }") }
        try fixture.apply("servers: { a: { notify: { users: [alice] } } }")
        LogLimiter.logAllRepetitions()
        #expect(fixture.recorder.entries.count == 1)
    }

    @Test("a failed start is logged once, however many reloads there are")
    func repeatedStartFailure() throws {
        let text = "servers: { a: { notify: { users: [nobody-here] } } }"
        for _ in 0..<20 { try fixture.apply(text) }
        #expect(fixture.recorder.entries.count == 1)
    }

    @Test("members of the group may send to notify sockets, as of the last reload")
    func groups() throws {
        let text = "servers: { a: { notify: true } }"
        try fixture.apply(text)
        #expect(fixture.senderGroups(to: "a") == [])
        fixture.group = 3000
        try fixture.apply(text)
        #expect(fixture.senderGroups(to: "a") == [3000])
    }

    @Test("a reload looks up users again: a user whose ID changed, or that is gone, may not send")
    func accounts() throws {
        let text = "servers: { a: { notify: { users: [alice] } } }"
        try fixture.apply(text)
        try fixture.post("before", to: "a")
        #expect(fixture.senders(to: "a").contains(1000))
        fixture.users["alice"] = 2000
        #expect(try fixture.apply(text) == [])
        #expect(fixture.senders(to: "a").contains(2000))
        #expect(!fixture.senders(to: "a").contains(1000))
        #expect(fixture.state("a")?.headline == "before")
        fixture.users = [:]
        #expect(try fixture.apply(text) == ["~a"])
        #expect(!fixture.hasNotifySocket("a"))
        #expect(fixture.state("a")?.message == "unknown user “alice”; create it and run “statusctl reload”")
    }

    @Test("a reload opens notify sockets again if their paths, or their directory, were removed")
    func removedPath() throws {
        let text = "accept: any\nservers: { a: { notify: true } }"
        try fixture.apply(text)
        try fixture.post("here", to: "guest")
        for isDirectoryRemoved in [false, true] {
            for server in ["a", "guest"] { unlink("\(fixture.directories.notify)/\(server)") }
            if isDirectoryRemoved { rmdir(fixture.directories.notify) }
            #expect(try fixture.apply(text) == [])
            #expect(fixture.hasNotifySocket("a"))
            #expect(fixture.hasNotifySocket("guest"))
        }
    }

    @Test(
        "unconfigured servers are added up to a limit, and removed when they are forgotten or no longer accepted"
    )
    func guests() throws {
        try fixture.apply("accept: any\nlimits: { servers: 2 }")
        try fixture.post("here", to: "x")
        try fixture.post("here", to: "y")
        #expect(fixture.hasNotifySocket("x"))
        #expect(throws: MonitorError.self) { try fixture.post("here", to: "z") }
        let y = try #require(ServerName("y"))
        try fixture.registry.forget(y)
        #expect(fixture.state("y") == nil)
        #expect(!fixture.hasNotifySocket("y"))
        #expect(throws: LedgerError.self) { try fixture.registry.forget(y) }
        try fixture.post("here", to: "z")
        #expect(try fixture.apply("accept: any\nservers: { z: { push: true } }") == ["~z"])
        #expect(fixture.state("z")?.headline == "here")
        #expect(try fixture.apply("accept: configured\nservers: { z: { push: true } }") == ["-x"])
        #expect(throws: MonitorError.self) { try fixture.post("here", to: "x") }
        #expect(throws: MonitorError.self) { try fixture.registry.forget(try #require(ServerName("z"))) }
    }

    @Test("the configured selection holds until a user selects, and again when it is changed")
    func selection() throws {
        let servers = "servers: { a: { push: true }, b: { push: true } }"
        try fixture.apply("select: a\n" + servers)
        #expect(try fixture.monitor.selectedState().name.rawValue == "a")
        #expect(fixture.selected == "a", "the reply names the selected server")
        try fixture.registry.select(ServerName("b"))
        try fixture.apply("select: a\n" + servers + "\naccept: any")
        #expect(try fixture.monitor.selectedState().name.rawValue == "b")
        #expect(fixture.selected == nil)
        try fixture.apply(servers)
        #expect(fixture.selected == nil)
        try fixture.apply("select: a\n" + servers)
        #expect(fixture.selected == "a")
        #expect(try fixture.monitor.selectedState().name.rawValue == "a")
        let text = "select: late\naccept: any\n" + servers
        try fixture.apply(text)
        #expect(
            fixture.warnings.map(\.reason).first?.contains(
                "“select: late” takes effect with the first post of that server") == true
        )
        try fixture.apply(text)
        #expect(fixture.warnings.isEmpty, "there is only one warning")
        try fixture.post("here", to: "late")
        #expect(try fixture.monitor.selectedState().name.rawValue == "late")
    }

    @Test("a server that programs post to keeps its status under its new name, unless that existed before")
    func renaming() throws {
        try fixture.apply("servers: { a: { push: true }, b: { push: true } }")
        try fixture.post("full", to: "a")
        try fixture.apply("servers: { c: { push: true, was: a }, b: { push: true } }")
        #expect(fixture.state("c")?.headline == "full")
        #expect(fixture.warnings.isEmpty)
        try fixture.apply("servers: { c: { push: true, was: b } }")
        #expect(fixture.warnings.map(\.reason) == ["“was: b” has no effect, because c existed beside b"])
        #expect(fixture.state("c")?.headline == "full")
    }

    @Test("removing what programs had posted, because a first server is configured, is a warning")
    func firstServer() throws {
        try fixture.apply("accept: any\n")
        for name in ["a", "b", "c", "d"] { try fixture.post("here", to: name) }
        try fixture.apply("servers: { a: { push: true } }\n")
        #expect(
            fixture.warnings.map(\.reason) == [
                "removes servers that programs had posted (b, c, d), because only configured servers accept posts now; "
                    + "add “accept: any” to keep them"
            ])
        try fixture.apply("servers: { a: { push: true }, b: { push: true } }\n")
        #expect(fixture.warnings.isEmpty)
    }

    @Test("the configured selection comes back with its server, unless a user has selected another one")
    func selectionReturns() throws {
        let both = "select: a\nservers: { a: { push: true }, b: { push: true } }"
        let other = "select: a\nservers: { b: { push: true } }"
        try fixture.apply(both)
        try fixture.apply(other)
        #expect(throws: LedgerError.nothingSelected) { try fixture.monitor.selectedState() }
        try fixture.apply(both)
        #expect(try fixture.monitor.selectedState().name.rawValue == "a")
        try fixture.registry.select(ServerName("b"))
        try fixture.apply(other)
        try fixture.apply(both)
        #expect(try fixture.monitor.selectedState().name.rawValue == "b")
    }

    @Test("only loaded servers can be refreshed; the error says why")
    func refreshable() async throws {
        try fixture.apply("servers: { a: { push: true }, bad: { exec: [check] } }")
        for server in ["a", "bad"] {
            let name = try #require(ServerName(server))
            await #expect(throws: MonitorError.self) { try await fixture.registry.refresh(name) }
        }
        let nobody = try #require(ServerName("nobody"))
        await #expect(throws: LedgerError.noSuchServer(nobody)) { try await fixture.registry.refresh(nobody) }
    }
}
