// SPDX-License-Identifier: Apache-2.0

import Logging
import Testing

@testable import EventLoopIO
@testable import SystemdClient

@Suite("Units on a bus", .timeLimit(.minutes(5)))
@EventLoop struct UnitBusTests {
    private let bus: FakeBus
    private let units: UnitBus
    private let observations: AsyncStream<String>
    private let told: AsyncStream<String>.Continuation

    init() throws {
        bus = try FakeBus()
        units = Self.units(on: bus)
        (observations, told) = AsyncStream.makeStream()
        bus.units["db.service"] = ["LoadState": "loaded", "ActiveState": "active", "SubState": "running"]
    }

    private static func units(
        on bus: FakeBus, answer: Duration = .seconds(60), absence: Duration = .seconds(60)
    ) -> UnitBus {
        let limits = ManagerWatch.Limits(answer: answer, absence: absence, betweenPings: .milliseconds(20))
        return UnitBus(on: bus.address, limits: limits, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    private func follow(_ unit: String, over other: UnitBus? = nil) -> UnitSubscription {
        (other ?? units).follow(unit) { [told] observation in
            switch observation {
            case .properties(let properties):
                let failure = properties.startFailure.map { ", \($0)" } ?? ""
                told.yield("\(properties.activeState) (\(properties.subState))\(failure)")
            case .unreachable(let reason): told.yield(reason)
            case .unanswered: told.yield("no answer")
            }
        }
    }

    /// The next reported state.
    private func next() async -> String? {
        var iterator = observations.makeAsyncIterator()
        return await iterator.next()
    }

    /// Waits for this state; others may be reported before it.
    private func until(_ state: String) async {
        for await observation in observations where observation == state { return }
    }

    @Test("a unit is reported as soon as it is known, and when the manager signals a change")
    func changes() async {
        let subscription = follow("db.service")
        #expect(await next() == "active (running)")
        bus.change("db.service", ["ActiveState": "failed", "SubState": "failed"])
        #expect(await next() == "failed (failed)")
        withExtendedLifetime(subscription) {}
    }

    @Test("a state with many combining characters in a row gets a joiner after 30, so that it compares quickly")
    func combiningCharacters() async {
        bus.units["db.service"]?["SubState"] = String(repeating: "\u{301}", count: 31)
        let subscription = follow("db.service")
        #expect(await next()?.unicodeScalars.contains("\u{34F}") == true)
        withExtendedLifetime(subscription) {}
    }

    @Test("a unit that was not started is reported as such until it runs, even if it is read meanwhile")
    func notStarted() async {
        bus.units["db.service"] = ["LoadState": "loaded", "ActiveState": "inactive", "SubState": "dead"]
        let subscription = follow("db.service")
        #expect(await next() == "inactive (dead)")
        for result in ["done", "canceled", "failed", "invalid"] { bus.endJob(of: "db.service", result) }
        bus.endJob(of: "other.service", "dependency")
        bus.endJob(of: "db.service", "dependency")
        #expect(await next() == "inactive (dead), dependency")
        await subscription.read(within: .seconds(60))
        #expect(await next() == "inactive (dead), dependency")
        bus.change("db.service", ["ActiveState": "active", "SubState": "running"])
        #expect(await next() == "active (running)")
        bus.change("db.service", ["ActiveState": "inactive", "SubState": "dead"])
        #expect(await next() == "inactive (dead)")
        withExtendedLifetime(subscription) {}
    }

    @Test("a unit that does not exist is inactive, and is read again on request")
    func missing() async {
        let subscription = follow("web.service")
        #expect(await next() == "inactive (dead)")
        bus.units["web.service"] = ["LoadState": "loaded", "ActiveState": "active", "SubState": "running"]
        await subscription.read(within: .seconds(60))
        #expect(await next() == "active (running)")
    }

    @Test("signals are requested before anything is read, so no change is missed")
    func order() async {
        let subscription = follow("db.service")
        #expect(await next() == "active (running)")
        let subscribed = bus.calls.firstIndex(of: "Subscribe")
        let read = bus.calls.firstIndex(of: "GetUnit db.service")
        let matched = bus.calls.lastIndex { $0.hasPrefix("AddMatch") }
        #expect(matched ?? .max < subscribed ?? -1)
        #expect(subscribed ?? .max < read ?? -1)
        withExtendedLifetime(subscription) {}
    }

    @Test("signals about a unit from other senders are ignored")
    func strangers() async {
        let subscription = follow("db.service")
        #expect(await next() == "active (running)")
        bus.change("db.service", ["SubState": "invented"], from: FakeBus.stranger)
        bus.units["db.service"]?["SubState"] = "running"
        bus.change("db.service", ["SubState": "exited"])
        #expect(await next() == "active (exited)")
        withExtendedLifetime(subscription) {}
    }

    @Test("all units are read again when another manager replaces the former one, whose signals no longer count")
    func otherManager() async {
        let subscription = follow("db.service")
        #expect(await next() == "active (running)")
        bus.changeOwner(to: nil)
        bus.units["db.service"]?["SubState"] = "reborn"
        bus.changeOwner(to: ":1.9")
        #expect(await next() == "active (reborn)")
        bus.change("db.service", ["SubState": "former"], from: FakeBus.manager)
        bus.change("db.service", ["SubState": "present"], from: ":1.9")
        #expect(await next() == "active (present)")
        withExtendedLifetime(subscription) {}
    }

    @Test("a manager that leaves and comes back in time, as daemon-reexec does, makes no unit unknown")
    func managerAway() async {
        let subscription = follow("db.service")
        #expect(await next() == "active (running)")
        bus.changeOwner(to: nil)
        bus.changeOwner(to: ":1.9")
        await subscription.read(within: .seconds(60))
        #expect(await next() == "active (running)")
        #expect(bus.calls.count { $0 == "Hello" } == 1)
    }

    @Test("a manager that is away for too long makes all units unknown until it is back")
    func managerGone() async {
        let subscription = follow("db.service", over: Self.units(on: bus, absence: .milliseconds(50)))
        #expect(await next() == "active (running)")
        bus.changeOwner(to: nil)
        #expect(await next() == "the service manager disconnected from the system bus")
        bus.changeOwner(to: ":1.9")
        await until("active (running)")
        withExtendedLifetime(subscription) {}
    }

    @Test("a manager that does not answer makes all units unknown until it answers again")
    func silentManager() async {
        let silence = "the service manager did not answer within 1 s"
        let subscription = follow("db.service", over: Self.units(on: bus, answer: .seconds(1)))
        await until("active (running)")
        bus.isAnswering = false
        await until(silence)
        await subscription.read(within: .seconds(60))
        await until(silence)
        bus.isAnswering = true
        await until("active (running)")
    }

    @Test("a manager that fails to send signals makes all units unknown, and is asked for them again")
    func failingSubscription() async {
        bus.failing = ["Subscribe"]
        let subscription = follow("db.service")
        #expect(await next() == "no buffer space available")
        bus.failing = []
        #expect(await next() == "active (running)")
        bus.change("db.service", ["ActiveState": "failed", "SubState": "failed"])
        #expect(await next() == "failed (failed)")
        withExtendedLifetime(subscription) {}
    }

    @Test("a unit that the manager cannot read is unknown; one that others have not loaded is read all the same")
    func failingReading() async {
        bus.failing = ["GetUnit"]
        let subscription = follow("db.service")
        #expect(await next() == "active (running)")
        bus.failing = ["GetAll"]
        await subscription.read(within: .seconds(60))
        #expect(await next() == "no buffer space available")
        bus.failing = []
        bus.change("db.service", ["SubState": "exited"])
        #expect(await next() == "active (exited)")
    }

    @Test("a call that the bus forbids makes all units unknown", arguments: ["GetUnit", "GetAll", "Subscribe"])
    func forbidden(method: String) async {
        bus.forbidden = [method]
        let subscription = follow("db.service", over: Self.units(on: bus, absence: .milliseconds(10)))
        #expect(await next() == "the service manager does not answer: forbidden")
        bus.forbidden = []
        #expect(await next() == "active (running)")
        withExtendedLifetime(subscription) {}
    }

    @Test("a unit that is loaded is read, but not because it is loaded only to be read, which would never end")
    func loading() async {
        let subscription = follow("web.service")
        #expect(await next() == "inactive (dead)")
        bus.load("web.service")
        // By the time of the next answer, all earlier signals have been handled.
        for _ in 0..<2 {
            await subscription.read(within: .seconds(60))
            #expect(await next() == "inactive (dead)")
        }
        #expect(bus.calls.count { $0 == "GetAll" } == 3)
        bus.units["web.service"] = ["LoadState": "loaded", "ActiveState": "active", "SubState": "running"]
        bus.load("web.service")
        #expect(await next() == "active (running)")
        bus.units["web.service"] = nil
        bus.unload("web.service")
        #expect(await next() == "inactive (dead)")
    }

    @Test("a unit that is followed by an alias is known by its own name, too")
    func alias() async {
        bus.units["web.service"] = [
            "Id": "nginx.service", "LoadState": "loaded", "ActiveState": "active", "SubState": "running",
        ]
        let subscription = follow("web.service")
        #expect(await next() == "active (running)")
        bus.change("nginx.service", ["SubState": "exited"])
        #expect(await next() == "active (exited)")
        withExtendedLifetime(subscription) {}
    }

    @Test("each of many units is read once")
    func many() async {
        let names = (0..<300).map { "other-\($0).service" }
        for name in names { bus.units[name] = ["LoadState": "loaded", "ActiveState": "active", "SubState": "running"] }
        let subscriptions = names.map { follow($0) }
        for _ in subscriptions { #expect(await next() == "active (running)") }
        #expect(bus.calls.count { $0.hasPrefix("GetAll") } == names.count)
        withExtendedLifetime(subscriptions) {}
    }

    @Test("if the connection is lost, followers get the reason; after a new connection, they get the unit's state")
    func lost() async {
        let subscription = follow("db.service")
        #expect(await next() == "active (running)")
        bus.drop()
        #expect(await next() == "the system bus closed the connection")
        #expect(await next() == "active (running)")
        withExtendedLifetime(subscription) {}
    }

    @Test("a reading that is not answered in time is reported as such")
    func unanswered() async {
        let subscription = follow("db.service")
        #expect(await next() == "active (running)")
        bus.isAnswering = false
        await subscription.read(within: .milliseconds(1))
        #expect(await next() == "no answer")
    }

    @Test("after a subscription is cancelled, it gets no reports, and its readings return")
    func cancelled() async {
        let other = follow("db.service")
        #expect(await next() == "active (running)")
        let cancelled = units.follow("db.service") { [told] _ in told.yield("told though cancelled") }
        cancelled.cancel()
        await cancelled.read(within: .seconds(60))
        bus.change("db.service", ["SubState": "exited"])
        #expect(await next() == "active (exited)")
        withExtendedLifetime(other) {}
    }
}
