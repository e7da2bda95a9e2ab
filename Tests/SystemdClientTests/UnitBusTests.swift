// SPDX-License-Identifier: Apache-2.0

import Logging
import Testing

@testable import EventLoopIO
@testable import SystemdClient

@Suite("Units on a bus", .timeLimit(.minutes(1)))
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

    private static func units(on bus: FakeBus, patience: Duration = .seconds(60)) -> UnitBus {
        let times = BusTimes(
            betweenPings: .milliseconds(20), answer: .seconds(60), patience: patience,
            afterDisturbance: .milliseconds(100), betweenReadings: .seconds(60), afterRefusal: .milliseconds(10))
        return UnitBus(on: bus.address, times: times, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
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

    @Test("a unit is reported as soon as it is known, and when the manager signals a change")
    func changes() async {
        let subscription = follow("db.service")
        #expect(await next() == "active (running)")
        bus.change("db.service", ["ActiveState": "failed", "SubState": "failed"])
        #expect(await next() == "failed (failed)")
        withExtendedLifetime(subscription) {}
    }

    @Test("of many combining characters in a row, a state has a joiner after 30, so that it is quickly compared")
    func combiningCharacters() async {
        bus.units["db.service"]?["SubState"] = String(repeating: "\u{301}", count: 31)
        let subscription = follow("db.service")
        #expect(await next()?.unicodeScalars.contains("\u{34F}") == true)
        withExtendedLifetime(subscription) {}
    }

    @Test("while other users cause disturbances, few units are read again every 2 s, and many at least every 20 s")
    func disturbances() {
        func pause(forUnits count: Int) -> Duration {
            BusTimes().betweenReadings + BusTimes.reading(units: count)
        }
        #expect(pause(forUnits: 1) < .seconds(3))
        #expect(pause(forUnits: 800) == .seconds(10))
        #expect(pause(forUnits: 100_000) == .seconds(20))
    }

    /// Follows a hundred running units, and the one under test; returns when all are known.
    private func followMany() async -> [UnitSubscription] {
        let names = (0..<100).map { "other-\($0).service" }
        for name in names { bus.units[name] = ["LoadState": "loaded", "ActiveState": "active", "SubState": "running"] }
        let subscriptions = (names + ["db.service"]).map { follow($0) }
        for _ in subscriptions { #expect(await next() == "active (running)") }
        return subscriptions
    }

    @Test("while other users cause disturbances, a unit that has changed unseen is read before all others")
    func listed() async {
        let subscriptions = await followMany()
        let before = bus.calls.count
        bus.units["db.service"]?["SubState"] = "exited"
        bus.change("other-1.service", [:], from: FakeBus.stranger)
        #expect(await next() == "active (exited)")
        let calls = bus.calls.dropFirst(before).drop { $0 != "ListUnits" }
        #expect(calls.first { $0.hasPrefix("GetAll") } == "GetAll db.service")
        withExtendedLifetime(subscriptions) {}
    }

    @Test("a signal that the bus drops just after a reported disturbance is noticed without another report, too")
    func listedAgain() async {
        let subscriptions = await followMany()
        bus.onListing = { [unowned bus] in
            bus.units["db.service"] = ["LoadState": "loaded", "ActiveState": "failed", "SubState": "failed"]
        }
        bus.change("other-1.service", [:], from: FakeBus.stranger)
        #expect(await next() == "failed (failed)")
        withExtendedLifetime(subscriptions) {}
    }

    @Test("a unit whose change the manager signals is read before those that others make it load")
    func first() async {
        let names = (0..<200).map { "other-\($0).service" }
        let subscriptions = names.map { follow($0) }
        for _ in names { #expect(await next() == "inactive (dead)") }
        let before = bus.calls.count
        for name in names { bus.load(name) }
        bus.units["other-199.service"] = ["LoadState": "loaded"]
        bus.change("other-199.service", ["ActiveState": "failed", "SubState": "failed"])
        #expect(await next() == "failed (failed)")
        let looks = bus.calls.dropFirst(before).prefix { !$0.hasPrefix("GetAll") }.count
        #expect(looks < 100)
        withExtendedLifetime(subscriptions) {}
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

    @Test("calls of this process's methods get no answer, because unread answers would pile up")
    func called() async {
        let subscription = follow("db.service")
        #expect(await next() == "active (running)")
        bus.callClient(from: FakeBus.stranger)
        bus.change("db.service", ["SubState": "exited"])
        #expect(await next() == "active (exited)")
        await subscription.read(within: .seconds(60))
        #expect(bus.answers == 0)
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

    @Test(
        "if the bus briefly refuses calls to the manager, a unit's state is unaffected, and is read when there is room"
    )
    func refused() async {
        bus.refusals = 10
        let subscription = follow("db.service")
        #expect(await next() == "active (running)")
        withExtendedLifetime(subscription) {}
    }

    @Test(
        "if the bus refuses calls to the manager for too long, units are unknown, and are read when there is room",
        arguments: [["GetUnit", "GetAll", "ListUnits", "Subscribe", "Ping"], ["GetAll"]])
    func refusedForLong(methods: Set<String>) async {
        let subscription = follow("db.service", over: Self.units(on: bus, patience: .milliseconds(200)))
        #expect(await next() == "active (running)")
        bus.refused = methods
        bus.units["db.service"]?["SubState"] = "dying"
        bus.changeOwner(to: ":1.9")
        #expect(await next() == "its state is unknown because the service manager or the system bus is busy")
        bus.refused = []
        #expect(await next() == "active (dying)")
        // A lost connection is made again only after a pause.
        #expect(bus.calls.count { $0 == "Hello" } == 1)
        withExtendedLifetime(subscription) {}
    }

    @Test("a unit that was read before the manager was asked for signals is read again")
    func subscribedLate() async {
        bus.refused = ["Subscribe"]
        let subscription = follow("db.service")
        #expect(await next() == "active (running)")
        bus.units["db.service"]?["SubState"] = "exited"
        bus.refused = []
        #expect(await next() == "active (exited)")
        await bus.answered("Subscribe")
        bus.change("db.service", ["ActiveState": "failed", "SubState": "failed"])
        #expect(await next() == "failed (failed)")
        withExtendedLifetime(subscription) {}
    }

    @Test("a manager that fails to send signals is asked for them again, and the units are read again")
    func failingSubscription() async {
        bus.failing = ["Subscribe"]
        let subscription = follow("db.service")
        #expect(await next() == "active (running)")
        bus.units["db.service"]?["SubState"] = "exited"
        bus.failing = []
        #expect(await next() == "active (exited)")
        await bus.answered("Subscribe")
        bus.change("db.service", ["ActiveState": "failed", "SubState": "failed"])
        #expect(await next() == "failed (failed)")
        withExtendedLifetime(subscription) {}
    }

    @Test("signals about a unit are reported even while the bus has no room for reading it again")
    func toldWhileRefused() async {
        let subscription = follow("db.service")
        #expect(await next() == "active (running)")
        bus.refused = ["GetAll"]
        await bus.answered("Subscribe")
        bus.changeOwner(to: ":1.9")
        await bus.answered("Subscribe")
        bus.change("db.service", ["ActiveState": "failed", "SubState": "failed"], from: ":1.9")
        #expect(await next() == "failed (failed)")
        withExtendedLifetime(subscription) {}
    }

    @Test(
        "a method that the bus's policy forbids is reported; a unit is read without it if possible",
        arguments: ["GetUnit", "GetAll", "Subscribe"])
    func forbidden(method: String) async {
        bus.forbidden = [method]
        let subscription = follow("db.service")
        #expect(await next() == (method == "GetAll" ? "forbidden" : "active (running)"))
        withExtendedLifetime(subscription) {}
    }

    @Test("if the connection is lost, followers get the reason; after it is made again, they get the unit's state")
    func lost() async {
        let subscription = follow("db.service")
        #expect(await next() == "active (running)")
        bus.drop()
        #expect(await next() == "the system bus closed the connection")
        #expect(await next() == "active (running)")
        withExtendedLifetime(subscription) {}
    }

    @Test("a unit without followers is forgotten, even if its own name is learned afterwards")
    func renamedTooLate() async {
        bus.units["web.service"] = ["Id": "nginx.service", "LoadState": "loaded", "ActiveState": "active"]
        let other = follow("db.service")
        #expect(await next() == "active (running)")
        let gone = follow("web.service")
        // As soon as the client has asked about it.
        EventLoop.atEndOfTurn { gone.cancel() }
        await other.read(within: .seconds(60))
        #expect(units.index["web.service"].isEmpty)
        #expect(units.index["nginx.service"].isEmpty)
        withExtendedLifetime(other) {}
    }

    @Test("a reading that is not answered in time is reported as such")
    func unanswered() async {
        let subscription = follow("db.service")
        #expect(await next() == "active (running)")
        bus.isAnswering = false
        await subscription.read(within: .milliseconds(1))
        #expect(await next() == "no answer")
        withExtendedLifetime(subscription) {}
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
