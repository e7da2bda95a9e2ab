// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import EventLoopIO
@testable import SystemdClient

@Suite("A followed unit") struct FollowedUnitTests {
    private let unit = FollowedUnit("nginx.service")

    @discardableResult
    private func know(
        _ active: String, _ sub: String, id: String = "nginx.service", loadState: String = "loaded",
        isInMemory: Bool = true
    ) -> UnitObservation {
        _ = unit.begin()
        let values = ["Id": id, "LoadState": loadState, "ActiveState": active, "SubState": sub]
        return unit.know(values, isInMemory: isInMemory)
    }

    /// The state that an effect reports.
    private func told(_ effect: FollowedUnit.Effect) -> String {
        switch effect {
        case .tell(.properties(let properties)): "\(properties.activeState) (\(properties.subState))"
        case let effect: "\(effect)"
        }
    }

    @Test("reports the properties of its type, and those of all units, at the same time")
    func waitsForBoth() {
        know("active", "running")
        #expect(unit.change(["StatusText": "Serving"], areGeneral: false) == .nothing)
        var expected = UnitProperties()
        expected.apply(
            ["LoadState": "loaded", "ActiveState": "reloading", "SubState": "running", "StatusText": "Serving"],
            isService: true)
        #expect(unit.change(["ActiveState": "reloading"], areGeneral: true) == .tell(.properties(expected)))
    }

    @Test("reports the states of a unit that the manager is about to forget, even if it must be read")
    func forgottenFailure() {
        know("inactive", "dead", isInMemory: false)
        _ = unit.needs(.look)
        let failed = ["ActiveState": "failed", "SubState": "failed"]
        #expect(told(unit.change(failed, areGeneral: true)) == "failed (failed)")
        // It has been in memory, so its state may differ after it was unloaded.
        #expect(unit.mustBeLoaded(for: .look))
    }

    @Test("is read after a failed condition, which signals do not name; its name outlives the unit's time in memory")
    func failedCondition() throws {
        know("inactive", "dead")
        let skipped = ["ConditionResult": "no", "ConditionTimestampMonotonic": "7", "ActiveState": "inactive"]
        #expect(unit.change(skipped, areGeneral: true) == .look)
        func known(_ values: [String: String]) throws -> UnitProperties {
            let loaded = ["LoadState": "loaded", "ActiveState": "inactive"].merging(values) { $1 }
            let observation = unit.know(loaded, isInMemory: true)
            guard case .properties(let properties) = observation else { throw CancellationError() }
            return properties
        }
        // The manager has unloaded it already.
        #expect(try known(["ConditionResult": "no", "ConditionTimestampMonotonic": "0"]).failedCondition == "")
        let named = skipped.merging(["Conditions": "ConditionPathExists=/x"]) { $1 }
        #expect(try known(named).failedCondition == "ConditionPathExists=/x")
        #expect(try known(["ConditionTimestampMonotonic": "0"]).failedCondition == "ConditionPathExists=/x")
        // Neither another signal of the same check nor one of a unit that was just loaded needs another reading.
        #expect(told(unit.change(skipped, areGeneral: true)) == "inactive ()")
        #expect(told(unit.change(["ConditionTimestampMonotonic": "0"], areGeneral: true)) == "inactive ()")
        #expect(try known([:]).failedCondition == "ConditionPathExists=/x")
        let met = ["ConditionResult": "yes", "ConditionTimestampMonotonic": "8"]
        let refused = ["AssertResult": "no", "AssertTimestampMonotonic": "9", "Asserts": "AssertUser=x"]
        #expect(try known(met.merging(refused) { $1 }).failedCondition == "AssertUser=x")
        #expect(try known(met.merging(["ConditionTimestampMonotonic": "10"]) { $1 }).failedCondition == nil)
    }

    @Test("a failure is reported at once, and read if signals do not tell how a command ended")
    func failedCommand() {
        know("activating", "start-pre")
        #expect(unit.change(["Result": "exit-code"], areGeneral: false) == .nothing)
        guard case .tellAndLook = unit.change(["ActiveState": "failed"], areGeneral: true) else {
            Issue.record("it is not read")
            return
        }
        know("active", "running")
        let main = ["ExecMainCode": "1", "ExecMainStatus": "3", "ExecMainExitTimestampMonotonic": "5"]
        #expect(unit.change(main.merging(["Result": "exit-code"]) { $1 }, areGeneral: false) == .nothing)
        #expect(told(unit.change(["ActiveState": "failed"], areGeneral: true)) == "failed (running)")
    }

    @Test("must be read before signals count if its file was missing, could not be read, or was never read")
    func mustBeRead() {
        let change = ["ActiveState": "active"]
        #expect(unit.change(change, areGeneral: true) == .look)
        know("inactive", "dead", loadState: "not-found", isInMemory: false)
        #expect(unit.change(change, areGeneral: true) == .look)
        #expect(!unit.mustBeLoaded(for: .look))
        #expect(unit.mustBeLoaded(for: .read(request: 0)))
        know("active", "running", loadState: "masked")
        #expect(told(unit.change(["ActiveState": "failed"], areGeneral: true)) == "failed (running)")
        #expect(unit.refuse("busy") == .unreachable("busy"))
        #expect(unit.change(change, areGeneral: true) == .look)
        #expect(unit.mustBeLoaded(for: .look))
    }

    @Test("is queued once, however often it must be read, and again for changes after a reading has begun")
    func queue() {
        #expect(unit.needs(.look))
        #expect(!unit.needs(.read(request: 7)))
        #expect(!unit.needs(.read(request: 0)))
        #expect(!unit.needs(.look))
        #expect(unit.begin() == .read(request: 7))
        #expect(unit.needs(.look))
        #expect(unit.begin() == .look)
        #expect(unit.begin() == nil)
    }

    @Test("is found by its own name, too, if it is followed by another one")
    func alias() {
        know("active", "running", id: "web.service")
        #expect(unit.isCalled("nginx.service"))
        #expect(unit.isCalled("web.service"))
        #expect(!unit.isCalled("other.service"))
        #expect(unit.path == "/org/freedesktop/systemd1/unit/nginx_2eservice")
        #expect(FollowedUnit.name(ofObject: unit.path) == "nginx.service")
        #expect(FollowedUnit.name(ofObject: "/org/freedesktop/systemd1/job/7") == nil)
    }

    @Test("that was not started keeps the reason until it runs, even if it is read meanwhile")
    func notStarted() {
        #expect(unit.noteStart(.dependency) == .nothing)
        var expected = UnitProperties()
        expected.apply(["LoadState": "loaded", "ActiveState": "inactive", "SubState": "dead"], isService: true)
        expected.startFailure = .dependency
        know("inactive", "dead")
        #expect(unit.noteStart(.dependency) == .tell(.properties(expected)))
        #expect(know("inactive", "dead") == .properties(expected))
        _ = unit.change(["ActiveState": "active"], areGeneral: true)
        expected.startFailure = nil
        #expect(unit.change(["ActiveState": "inactive"], areGeneral: true) == .tell(.properties(expected)))
    }
}

@Suite("A follower of a unit", .timeLimit(.minutes(5)))
@EventLoop struct UnitFollowerTests {
    /// A follower, and the reports that it received.
    @EventLoop
    private final class Told {
        var reasons: [String] = []
        lazy var follower = UnitFollower { [weak self] report in
            let reason = if case .observation(.unreachable(let reason)) = report { reason } else { "no answer" }
            self?.reasons.append(reason)
        }
    }

    private let told = Told()

    private func take(_ reason: String, answers request: Int = 0) {
        told.follower.take(.observation(.unreachable(reason)), answers: request)
    }

    /// Makes a call with a request's number, runs `body` while it waits, and returns when it does.
    private func duringCall(_ request: Int, _ body: () -> Void) async {
        let follower = told.follower
        let (asked, continuation) = AsyncStream.makeStream(of: Void.self)
        async let reading: Void = follower.wait(atMost: .seconds(60)) {
            continuation.yield()
            return request
        }
        var iterator = asked.makeAsyncIterator()
        _ = await iterator.next()
        body()
        await reading
    }

    @Test("gets each change, and nothing twice")
    func changes() {
        for reason in ["a", "a", "b", "a"] { take(reason) }
        #expect(told.reasons == ["a", "b", "a"])
    }

    @Test("gets an answer from a reading that began after the call, and an unchanged state once more")
    func calls() async {
        take("a")
        await duringCall(7) {
            take("a", answers: 6)
            #expect(told.reasons == ["a"])
            take("a", answers: 8)
        }
        #expect(told.reasons == ["a", "a"])
    }

    @Test("is told if there is no answer in time, and then gets an unchanged state once more")
    func late() async {
        await duringCall(1) { take("a", answers: 1) }
        #expect(told.reasons == ["a"])
        await told.follower.wait(atMost: .zero) { 2 }
        take("a", answers: 2)
        take("a")
        #expect(told.reasons == ["a", "no answer", "a"])
    }

    @Test("gets no more reports after it was cancelled, and its calls return")
    func cancelled() async {
        await duringCall(1) { told.follower.cancel() }
        take("a")
        #expect(told.reasons.isEmpty)
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
