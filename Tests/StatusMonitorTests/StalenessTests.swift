// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusMonitor
import Synchronization
import Testing

@Suite("A status can go stale") struct StalenessTests {
    private let fixture = MonitorFixture(servers: [])
    private var monitor: StatusMonitor { fixture.monitor }

    private func add(_ server: String, timeToLive: Duration?) {
        monitor.add(ServerDefinition(name: name(server), source: "push", timeToLive: timeToLive))
    }

    private func isStale(_ server: String) throws -> Bool { try monitor.state(of: name(server)).isStale }

    @Test("a status past its time to live is stale; posting it again makes it fresh; both are changes")
    func changes() throws {
        add("a", timeToLive: .seconds(10))
        try fixture.post("Signed In", to: "a")
        let watch = try fixture.watch(.all)
        _ = watch.next()
        fixture.advance(by: 9_999)
        monitor.expire()
        #expect(try !isStale("a"))
        fixture.advance(by: 1)
        monitor.expire()
        monitor.expire()
        #expect(try isStale("a"))
        #expect(watch.lines() == ["changed a Signed In"])
        try fixture.post("Signed In", to: "a")
        #expect(try !isStale("a"))
        #expect(try monitor.state(of: name("a")).status?.changedAt.milliseconds == 0)
        #expect(watch.lines() == ["changed a Signed In"])
    }

    @Test("a server that never posts is stale after its time to live, counted from when it was added")
    func neverSaid() throws {
        fixture.advance(by: 500)
        add("a", timeToLive: .seconds(10))
        add("b", timeToLive: nil)
        let watch = try fixture.watch(.all)
        _ = watch.next()
        fixture.advance(by: 9_999)
        monitor.expire()
        #expect(watch.lines() == [])
        fixture.advance(by: 1)
        monitor.expire()
        #expect(watch.lines() == ["changed a no status yet"])
        #expect(try isStale("a"))
        #expect(try monitor.state(of: name("a")).markedHeadline == "no status yet (stale)")
        try monitor.touch(name("a"))
        #expect(try !isStale("a"))
        fixture.advance(by: 10_000)
        monitor.expire()
        #expect(try isStale("a"))
        try fixture.post("here", to: "a")
        #expect(try !isStale("a"))
    }

    @Test("a stale status that loses its time to live to an invalid configuration is stale once that is corrected")
    func mended() throws {
        add("a", timeToLive: .seconds(10))
        try fixture.post("up", to: "a")
        fixture.advance(by: 10_000)
        monitor.expire()
        try monitor.redefine(ServerDefinition(name: name("a"), source: "push", failure: "wrong"))
        try monitor.redefine(ServerDefinition(name: name("a"), source: "push", timeToLive: .seconds(10)))
        #expect(try isStale("a"))
    }

    /// An input that confirms the status, and is not one itself.
    enum Confirmation: CaseIterable {
        /// A sign of life.
        case touch
        /// A load whose result does not count yet.
        case uncounted
    }

    private func confirm(_ server: String, by confirmation: Confirmation) throws {
        switch confirmation {
        case .touch: try monitor.touch(name(server))
        case .uncounted: try monitor.setMessage("connection refused", of: name(server))
        }
    }

    @Test(
        "a sign of life, or a load that does not count yet, keeps a status fresh, and makes it fresh again",
        arguments: Confirmation.allCases)
    func confirmed(_ confirmation: Confirmation) throws {
        add("a", timeToLive: .seconds(10))
        try fixture.post("Serving", to: "a")
        fixture.advance(by: 9_000)
        try confirm("a", by: confirmation)
        fixture.advance(by: 9_000)
        monitor.expire()
        #expect(try !isStale("a"))
        fixture.advance(by: 1_000)
        monitor.expire()
        #expect(try isStale("a"))
        try confirm("a", by: confirmation)
        #expect(try !isStale("a"))
    }

    @Test("the time of the next check is reported only if it is earlier than the scheduled one")
    func schedule() throws {
        let times = Mutex<[Duration]>([])
        monitor.scheduleExpiry { time in times.withLock { $0.append(time) } }
        add("a", timeToLive: .seconds(10))
        add("b", timeToLive: .seconds(5))
        try fixture.post("1", to: "a")
        fixture.advance(by: 1_000)
        try fixture.post("2", to: "a")
        try fixture.post("1", to: "b")
        #expect(times.withLock { $0 } == [.seconds(10), .seconds(5)])
        fixture.advance(by: 5_000)
        monitor.expire()
        #expect(try isStale("b"))
        #expect(times.withLock { $0.last } == .seconds(11))
    }

    @Test("a status without a time to live is never stale")
    func never() throws {
        add("a", timeToLive: nil)
        try fixture.post("1", to: "a")
        fixture.advance(by: 1_000_000_000)
        monitor.expire()
        #expect(try !isStale("a"))
    }

    @Test("a program's time to live overrides the configured one until it is withdrawn")
    func ownTimeToLive() throws {
        add("a", timeToLive: .seconds(10))
        try fixture.post("Serving", to: "a")
        try monitor.setTimeToLive(.seconds(1), of: name("a"))
        fixture.advance(by: 1_000)
        monitor.expire()
        #expect(try isStale("a"))
        try monitor.setTimeToLive(nil, of: name("a"))
        #expect(try !isStale("a"))
    }

    @Test(
        "a program's time to live can be forgotten; a stale status stays stale until a sign of life"
    )
    func forgotten() throws {
        add("a", timeToLive: .seconds(10))
        try fixture.post("Serving", to: "a")
        try monitor.setTimeToLive(.seconds(60), of: name("a"))
        try monitor.forgetTimeToLive(of: name("a"))
        fixture.advance(by: 10_000)
        monitor.expire()
        #expect(try isStale("a"))
        try fixture.post("Serving", to: "a")
        try monitor.setTimeToLive(.seconds(1), of: name("a"))
        fixture.advance(by: 1_000)
        // As after a suspended night, when a program that has just missed its time gets a little more time to post.
        try monitor.forgetTimeToLive(of: name("a"))
        try monitor.redefine(ServerDefinition(name: name("a"), source: "push", timeToLive: nil))
        #expect(try isStale("a"))
        try monitor.touch(name("a"))
        #expect(try !isStale("a"))
    }

    @Test("a longer time to live in a new configuration makes a status fresh again")
    func redefined() throws {
        add("a", timeToLive: .seconds(1))
        try fixture.post("Serving", to: "a")
        fixture.advance(by: 2_000)
        monitor.expire()
        #expect(try isStale("a"))
        try monitor.redefine(ServerDefinition(name: name("a"), source: "push", timeToLive: .seconds(3)))
        #expect(try !isStale("a"))
        fixture.advance(by: 1_000)
        monitor.expire()
        #expect(try isStale("a"))
    }
}
