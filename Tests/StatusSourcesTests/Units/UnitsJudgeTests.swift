// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusModel
import SystemdClient
import Testing

@testable import StatusSources

@Suite("Judging several units") struct UnitsJudgeTests: UnitFixture {
    private static let failing = UnitsSettings(state: .failed)
    private static let matching = UnitsSettings(patterns: ["php*.service", "nginx.service"])

    private func failed(_ exit: UnitProperties.Exit? = nil, at time: Duration = .seconds(1)) -> UnitProperties {
        var properties = unit("failed", "failed", result: exit == nil ? "timeout" : "exit-code")
        properties.exit = exit
        properties.changedAt = time
        return properties
    }

    private func oneshot() -> UnitProperties {
        var properties = unit("inactive", "dead")
        properties.serviceType = "oneshot"
        return properties
    }

    private func judge(
        _ settings: UnitsSettings, failures: Int = 1, shown: Level? = nil, _ units: [String: UnitProperties] = [:]
    ) -> UnitsJudge {
        let schedule = CheckSchedule(interval: .seconds(30), failures: failures)
        var judge = UnitsJudge(settings, runtime: nil, schedule: schedule, shown: shown)
        judge.match(units.keys.sorted())
        for (name, properties) in units { judge.know(name, .properties(properties)) }
        return judge
    }

    private func status(_ settings: UnitsSettings, _ units: [String: UnitProperties]) -> UnitJudge.Verdict {
        var judge = judge(settings, units)
        return judge.judge(at: .seconds(100)).verdict
    }

    @Test("no failed unit is ok; failed ones are critical, with their names and the reasons")
    func failures() {
        #expect(status(Self.failing, [:]) == .show(UnitStatus(.ok, "no unit has failed")))
        let units = ["nginx.service": failed(), "backup.service": failed(.status(1))]
        let text = "2 failed: backup.service (exit status 1), nginx.service (timed out)"
        #expect(status(Self.failing, units) == .show(UnitStatus(.critical, text)))
        var device = unit("failed", "failed")
        device.serviceType = nil
        #expect(status(Self.failing, ["a.device": device]) == .show(UnitStatus(.critical, "1 failed: a.device")))
    }

    @Test("a listed unit that runs again has not failed, and one that failed just now may be restarted")
    func passing() {
        let running = unit("active", "running")
        #expect(status(Self.failing, ["a.service": running]) == .show(UnitStatus(.ok, "no unit has failed")))
        let units = ["a.service": failed(.status(7), at: .milliseconds(99_900)), "b.service": failed()]
        var judge = judge(Self.failing, units)
        let settled = Duration.milliseconds(100_100)
        #expect(judge.judge(at: .seconds(100), isFirst: true) == (.wait, settled, settled))
        let both = UnitStatus(.critical, "2 failed: a.service (exit status 7), b.service (timed out)")
        #expect(judge.judge(at: settled).verdict == .show(both))
        judge.know("a.service", .properties(unit("activating", "auto-restart", result: "exit-code")))
        let other = UnitStatus(.critical, "1 failed: b.service (timed out)")
        #expect(judge.judge(at: settled).verdict == .show(other))
    }

    @Test("at most five units are named and a hundred are followed, but all are counted")
    func many() {
        let names = (1000..<1120).map { "u\($0).service" }
        var judge = judge(Self.failing)
        judge.match(names)
        #expect(judge.names == Array(names.prefix(100)))
        for name in names { judge.know(name, .properties(failed(.status(1)))) }
        let named = names.prefix(5).map { "\($0) (exit status 1)" }.joined(separator: ", ")
        #expect(
            judge.judge(at: .seconds(100)).verdict == .show(UnitStatus(.critical, "120 failed: \(named) and 115 more")))
    }

    @Test("units that match must be active; a oneshot may wait for its next run")
    func matching() {
        let running = unit("active", "running")
        let units = ["php1.service": running, "php2.service": unit("reloading", "reload")]
        #expect(status(Self.matching, units) == .show(UnitStatus(.ok, "2 active")))
        let more = units.merging(["phpclean.service": oneshot()]) { $1 }
        #expect(status(Self.matching, more) == .show(UnitStatus(.ok, "2 active, 1 oneshot")))
        let oneshots = ["php3.service": oneshot(), "php4.service": backup(startedAt: .seconds(1))]
        #expect(status(Self.matching, oneshots) == .show(UnitStatus(.ok, "0 active, 2 oneshots")))
        let none = UnitStatus(.unknown, "no unit matches php*.service or nginx.service")
        #expect(status(Self.matching, [:]) == .show(none))
    }

    @Test("of units that are not ok, the worst comes first and gives the level")
    func problems() {
        var masked = failed(.signal(9))
        masked.result = "signal"
        masked.loadState = "masked"
        let units = [
            "a.service": unit("inactive", "dead"), "b.service": unit("active", "running"), "d.service": masked,
            "c.service": failed(.status(3)),
        ]
        let text = """
            3 of 4 not ok: c.service failed: exit status 3; d.service failed: ended by signal 9, Killed, masked; \
            a.service inactive (dead)
            """
        #expect(status(Self.matching, units) == .show(UnitStatus(.critical, text)))
    }

    @Test("a unit that systemd keeps restarting is a warning until it has run for 5 s, as with unit")
    func flapping() {
        var judge = judge(Self.matching, ["php.service": unit("active", "running")])
        #expect(judge.judge(at: .seconds(100)).verdict == .show(UnitStatus(.ok, "1 active")))
        judge.know("php.service", .properties(failed(.status(1), at: .seconds(101))))
        #expect(judge.judge(at: .seconds(101)).verdict == .show(UnitStatus(.ok, "1 active")))
        var restarting = unit("activating", "auto-restart", result: "exit-code")
        restarting.exit = .status(1)
        judge.know("php.service", .properties(restarting))
        let text = "1 of 1 not ok: php.service activating (auto-restart): exit status 1"
        #expect(judge.judge(at: .milliseconds(101_010)).verdict == .show(UnitStatus(.warning, text)))
        judge.know("php.service", .properties(unit("active", "running", restarts: 1)))
        let again = judge.judge(at: .seconds(102))
        #expect((again.verdict, again.again) == (.show(UnitStatus(.warning, text)), .seconds(107)))
        #expect(judge.judge(at: .seconds(107)).verdict == .show(UnitStatus(.ok, "1 active")))
    }

    @Test("nothing is said before each unit was read; one that cannot be read is unknown")
    func unread() {
        var judge = judge(Self.matching)
        judge.match(["a.service", "b.service"])
        judge.know("a.service", .properties(unit("active", "running")))
        judge.know("gone.service", .properties(failed()))
        #expect(judge.judge(at: .seconds(100)).verdict == .wait)
        judge.know("b.service", .unreachable("access denied"))
        let text = "1 of 2 not ok: b.service cannot be read: access denied"
        #expect(judge.judge(at: .seconds(100)).verdict == .show(UnitStatus(.unknown, text)))
        judge.know("a.service", .unreachable("the bus is away"))
        for name in ["a.service", "b.service"] { judge.know(name, .properties(failed(at: .milliseconds(99_900)))) }
        let first = judge.judge(at: .seconds(100), isFirst: true)
        #expect((first.verdict, first.again) == (.wait, .milliseconds(100_100)))
    }

    @Test("failures count once in each interval, also after a reload")
    func hysteresis() {
        var judge = judge(Self.failing, failures: 2, shown: .ok, ["a.service": failed(.status(1))])
        let status = UnitStatus(.critical, "1 failed: a.service (exit status 1)")
        let first = judge.judge(at: .seconds(100))
        #expect((first.verdict, first.again) == (.hold(status, 1, of: 2), .seconds(130)))
        #expect(judge.signedStreak == 1)
        judge.change(runtime: nil, schedule: CheckSchedule(failures: 1), shown: .ok)
        #expect(judge.judge(at: .seconds(101)).verdict == .show(status))
    }
}
