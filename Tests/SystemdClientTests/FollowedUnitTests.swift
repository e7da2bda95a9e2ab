// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import EventLoopIO
@testable import SystemdClient

@Suite("A followed unit", .timeLimit(.minutes(1)))
@EventLoop struct FollowedUnitTests {
    private static let unitInterface = "org.freedesktop.systemd1.Unit"
    private static let serviceInterface = "org.freedesktop.systemd1.Service"

    private let unit = FollowedUnit("nginx.service")

    /// A follower, and the states that it received.
    @EventLoop
    private final class Told {
        var observations: [UnitObservation] = []
        lazy var follower = UnitFollower { [weak self] in self?.observations.append($0) }

        var states: [String] {
            observations.map {
                switch $0 {
                case .properties(let properties): "\(properties.activeState) (\(properties.subState))"
                case .unreachable(let reason): reason
                case .unanswered: "no answer"
                }
            }
        }
    }

    private func follow() -> Told {
        let told = Told()
        unit.add(told.follower)
        return told
    }

    private func know(_ active: String, _ sub: String, id: String = "nginx.service") {
        _ = unit.begin()
        unit.know(["Id": id, "LoadState": "loaded", "ActiveState": active, "SubState": sub], wasLoaded: true)
        _ = unit.end()
    }

    /// Makes a call of the follower request a reading, runs `body` while it waits, and returns when it does.
    private func duringCall(of follower: UnitFollower, _ body: () -> Void) async {
        let unit = unit
        let (asked, continuation) = AsyncStream.makeStream(of: Void.self)
        async let reading: Void = follower.wait(atMost: .seconds(60)) {
            EventLoop.assumeIsolated { _ = unit.ask(.read) }
            continuation.yield()
        }
        var iterator = asked.makeAsyncIterator()
        _ = await iterator.next()
        body()
        await reading
    }

    @Test("is reported when it is known and when it changes, but not when it stays the same")
    func tells() {
        let told = follow()
        know("active", "running")
        know("active", "running")
        #expect(told.states == ["active (running)"])
        #expect(
            unit.change(
                ["ActiveState": "inactive", "SubState": "dead"], interface: Self.unitInterface, invalidated: [])
                == false)
        #expect(told.states == ["active (running)", "inactive (dead)"])
        let late = follow()
        unit.tell(late.follower)
        #expect(late.states == ["inactive (dead)"])
        #expect(told.states.count == 2)
    }

    @Test("shows the properties of its type, and those of all units, at the same time")
    func waitsForBoth() {
        let told = follow()
        know("active", "running")
        #expect(!unit.change(["StatusText": "Serving"], interface: Self.serviceInterface, invalidated: []))
        #expect(told.states.count == 1)
        #expect(!unit.change(["ActiveState": "reloading"], interface: Self.unitInterface, invalidated: []))
        #expect(told.states.count == 2)
        var expected = UnitProperties()
        expected.apply(
            ["LoadState": "loaded", "ActiveState": "reloading", "SubState": "running", "StatusText": "Serving"],
            isService: true)
        #expect(told.observations.last == .properties(expected))
    }

    @Test("reports its states even while it is read, if the manager is about to forget them")
    func forgottenFailure() {
        let told = follow()
        let new = [
            "Id": "nginx.service", "ActiveState": "inactive", "SubState": "dead", "CollectMode": "inactive-or-failed",
        ]
        unit.know(new, wasLoaded: false)
        _ = unit.begin()
        _ = unit.change(
            ["ActiveState": "activating", "SubState": "start"], interface: Self.unitInterface, invalidated: [])
        _ = unit.change(
            ["ActiveState": "failed", "SubState": "failed"], interface: Self.unitInterface, invalidated: [])
        unit.know(new, wasLoaded: true)
        _ = unit.end()
        #expect(told.states == ["inactive (dead)", "activating (start)", "failed (failed)", "inactive (dead)"])
    }

    @Test("has to be read if a signal omits the changed values, and if nothing is known yet")
    func mustBeRead() {
        _ = follow()
        #expect(unit.change(["ActiveState": "active"], interface: Self.unitInterface, invalidated: []))
        know("active", "running")
        #expect(unit.change([:], interface: Self.unitInterface, invalidated: ["SubState"]))
        #expect(!unit.change([:], interface: Self.unitInterface, invalidated: ["Markers"]))
    }

    @Test("is queued once, however often it is asked about, and again for questions during a reading")
    func line() {
        #expect(unit.ask(.look))
        #expect(!unit.ask(.read))
        #expect(unit.begin() == .read)
        #expect(!unit.ask(.look))
        #expect(unit.end())
        #expect(unit.begin() == .look)
        #expect(!unit.end())
    }

    @Test("is found by its own name and object, too, if it is followed by another one")
    func alias() {
        know("active", "running", id: "web.service")
        #expect(
            unit.subjects == [
                "nginx.service", "web.service", "/org/freedesktop/systemd1/unit/web_2eservice",
                "/org/freedesktop/systemd1/unit/nginx_2eservice",
            ])
    }

    @Test("is unreachable with a reason, and is reported again even if it is unchanged afterwards")
    func lost() {
        let told = follow()
        know("active", "running")
        unit.lose("the bus is gone")
        know("active", "running")
        #expect(told.states == ["active (running)", "the bus is gone", "active (running)"])
    }

    @Test("answers calls with the reading that began after them, and reports an unchanged state once more")
    func calls() async {
        let told = follow()
        know("active", "running")
        await duringCall(of: told.follower) { know("active", "running") }
        #expect(told.states == ["active (running)", "active (running)"])
    }

    @Test("a late answer either counts or does not, and the last report is the valid one")
    func late() async {
        for isInTime in [true, false] {
            let told = follow()
            know("active", "running")
            await duringCall(of: told.follower) {
                if isInTime { know("active", "running") }
                told.follower.expire(1)
            }
            know("active", "running")
            know("active", "running")
            #expect(
                told.states == ["active (running)"] + (isInTime ? [] : ["no answer"]) + ["active (running)"])
            unit.remove(told.follower)
        }
    }

    @Test("is unknown if questions about it are refused for too long, until there is an answer")
    func expired() {
        let told = follow()
        know("active", "running")
        let begin = SuspendingClock.now
        _ = unit.begin()
        _ = unit.end(isRefused: true)
        unit.expire(askedBefore: begin, "busy")
        #expect(told.states == ["active (running)"])
        // The time of the first question counts.
        let asked = SuspendingClock.now
        for _ in 0..<3 {
            _ = unit.begin()
            _ = unit.end(isRefused: true)
        }
        unit.expire(askedBefore: asked, "busy")
        #expect(told.states == ["active (running)", "busy"])
        #expect(!unit.isKnownAsUnloaded)
        know("active", "running")
        unit.expire(askedBefore: .now, "busy")
        #expect(told.states == ["active (running)", "busy", "active (running)"])
    }

    private static let gone: [String: ListedStates] = [:]

    private func listed(_ active: String, _ sub: String) -> [String: ListedStates] {
        ["nginx.service": ListedStates(loadState: "loaded", activeState: active, subState: sub)]
    }

    @Test("a list reports failures at once, and other changes have to be read")
    func listed() {
        let told = follow()
        know("active", "running")
        #expect(!unit.take(listed("active", "running")))
        #expect(unit.take(listed("activating", "auto-restart")))
        #expect(told.states == ["active (running)"])
        #expect(unit.take(listed("failed", "failed")))
        #expect(told.states == ["active (running)", "failed (failed)"])
        #expect(!unit.take(listed("failed", "failed")))
        #expect(unit.take(Self.gone))
    }

    @Test("a unit that ran according to signals, and is in no list any more, has to be read")
    func ranUnseen() {
        _ = unit.begin()
        unit.know(["LoadState": "not-found", "ActiveState": "inactive", "SubState": "dead"], wasLoaded: false)
        _ = unit.end()
        #expect(!unit.take(Self.gone))
        #expect(unit.isKnownAsUnloaded)
        _ = unit.change(
            ["ActiveState": "active", "SubState": "running"], interface: Self.unitInterface, invalidated: [])
        #expect(unit.take(Self.gone))
        #expect(!unit.isKnownAsUnloaded)
    }

    @Test("a unit whose answers are late, but arrive, stays known, however often it is asked about")
    func slow() {
        let told = follow()
        know("active", "running")
        for _ in 0..<3 {
            _ = unit.ask(.read)
            _ = unit.begin()
            _ = unit.ask(.read)
            unit.expire(askedBefore: .now + .seconds(100), "busy")
            know("active", "running")
        }
        #expect(told.states == ["active (running)"])
    }

    @Test(
        "after a reading that times out, no earlier state is reported, even if it is repeated or others follow"
    )
    func unansweredAndRefused() async {
        let told = follow()
        know("active", "running")
        await duringCall(of: told.follower) {
            _ = unit.begin()
            told.follower.expire(1)
        }
        _ = unit.end(isRefused: true)
        let other = follow()
        unit.tell(other.follower)
        #expect(told.states == ["active (running)", "no answer"])
        #expect(other.states == ["active (running)"])
    }

    @Test("a cancelled follower gets no more reports, and its calls return")
    func cancelled() async {
        let told = follow()
        await duringCall(of: told.follower) { told.follower.cancel() }
        know("active", "running")
        #expect(told.states.isEmpty)
    }
}

@Suite("A unit's properties") struct UnitPropertiesTests {
    @Test("are stored as they arrive; those of services from services only")
    func apply() {
        var properties = UnitProperties()
        let values = [
            "ActiveState": "activating", "SubState": "start", "Result": "", "StatusText": "Loading", "Type": "oneshot",
            "RemainAfterExit": "yes", "NRestarts": "3", "MainPID": "17", "InactiveExitTimestampMonotonic": "1500000",
            "ActiveEnterTimestampMonotonic": "1600000", "StateChangeTimestampMonotonic": "1700000",
        ]
        properties.apply(values, isService: false)
        #expect(properties.activeState == "activating")
        #expect(properties.result == nil)
        #expect(properties.startedAt == .milliseconds(1500))
        #expect(properties.activeAt == .milliseconds(1600))
        #expect(properties.changedAt == .milliseconds(1700))
        #expect((properties.statusText, properties.serviceType) == (nil, nil))
        properties.apply(values, isService: true)
        #expect((properties.statusText, properties.serviceType) == ("Loading", "oneshot"))
        #expect(properties.remainsAfterExit)
        #expect(properties.restarts == 3)
        #expect(properties.mainProcess == 17)
        properties.apply(["StatusText": "", "InactiveExitTimestampMonotonic": "0"], isService: true)
        #expect(properties.statusText == nil)
        #expect(properties.startedAt == nil)
        #expect(properties.serviceType == "oneshot")
    }
}
