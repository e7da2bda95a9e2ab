// SPDX-License-Identifier: Apache-2.0

import StatusModel
import SystemdClient
import Testing

@testable import StatusSources

@Suite("A unit that the service manager forgets") struct ForgottenUnitTests: UnitFixture {
    /// A oneshot that the service manager forgets when it has ended.
    private func job(
        _ active: String, _ sub: String, result: String? = nil, restarts: Int = 0, startedAt: Int?
    ) -> UnitProperties {
        var job = unit(active, sub, result: result, restarts: restarts)
        (job.serviceType, job.isForgottenWhenFailed) = ("oneshot", true)
        job.startedAt = startedAt.map { .milliseconds($0) }
        return job
    }

    /// The statuses shown for states at times in milliseconds; the judge is asked again when it requests that.
    private func shown(by judge: UnitJudge, of states: [(UnitProperties, Int)], until end: Int) -> [String] {
        var judge = judge
        var shown: [String] = []
        for (index, (unit, time)) in states.enumerated() {
            let next = index + 1 < states.count ? states[index + 1].1 : end
            var now = Duration.milliseconds(time)
            while now < .milliseconds(next) {
                let (verdict, again) = judge.judge(unit, at: now)
                if case .show(let status) = verdict {
                    let text = "\(status.text) [\(status.level.rawValue)]"
                    if shown.last != text { shown.append(text) }
                }
                now = max(again ?? .seconds(1000), now + .milliseconds(1))
            }
        }
        return shown
    }

    @Test("a oneshot that the service manager forgets stays failed until a run succeeds")
    func forgottenFailure() {
        let forgotten = job("inactive", "dead", startedAt: nil)
        let states = [
            (forgotten, 0), (job("activating", "start", startedAt: 1000), 1000),
            (job("failed", "failed", result: "exit-code", startedAt: 1000), 1100), (forgotten, 1110),
            (job("activating", "start", startedAt: 2000), 2000),
            (job("failed", "failed", result: "timeout", startedAt: 2000), 2100), (forgotten, 2101),
            (job("activating", "start", startedAt: 3000), 3000),
            (job("inactive", "dead", result: "success", startedAt: 3000), 3100), (forgotten, 3101),
        ]
        #expect(
            shown(by: judge(), of: states, until: 9000) == [
                "inactive (dead) [ok]", "activating (start) [ok]", "failed (exit-code) [critical]",
                "failed: timed out [critical]", "inactive (dead) [ok]",
            ])
    }

    @Test("its state after restarts is shown, even if it is forgotten before that has settled")
    func forgottenAfterRestart() {
        let restarted = job("activating", "auto-restart", result: "exit-code", startedAt: 1000)
        let states = [
            (job("activating", "start", startedAt: 1000), 1000), (restarted, 1100),
            (job("activating", "start", restarts: 1, startedAt: 1200), 1200),
        ]
        let forgotten = (job("inactive", "dead", startedAt: nil), 1310)
        let well = (job("inactive", "dead", result: "success", restarts: 1, startedAt: 1200), 1300)
        let failed = (job("failed", "failed", result: "start-limit-hit", restarts: 1, startedAt: 1200), 1300)
        let restart = ["activating (start) [ok]", "activating (auto-restart) after exit-code [warning]"]
        #expect(
            shown(by: judge(), of: states + [well, forgotten], until: 9000) == restart + ["inactive (dead) [ok]"])
        #expect(
            shown(by: judge(), of: states + [failed, forgotten], until: 9000)
                == restart + ["failed: started too often [critical]"])
    }

    @Test("failures that are still counted, or precede the start, are not forgotten either")
    func forgottenWhileCounted() {
        let forgotten = job("inactive", "dead", startedAt: nil)
        let failed = job("failed", "failed", result: "resources", startedAt: nil)
        #expect(
            shown(by: judge(failures: 2, shown: .ok), of: [(failed, 1000), (forgotten, 1001)], until: 40_000)
                == ["failed: a system operation failed (resources) [critical]"])
        // It failed once, and the end of the next run was not seen.
        let states = [
            (job("failed", "failed", result: "exit-code", startedAt: 1000), 1000), (forgotten, 1001),
            (job("activating", "start", startedAt: 5000), 5000), (forgotten, 9000),
        ]
        #expect(
            shown(by: judge(failures: 2, shown: .ok), of: states, until: 50_000)
                == ["ended with an unknown result [unknown]"])
    }

    @Test("an end that was not seen is reported as unknown; a unit file that is written again is not an end")
    func unseenEnd() {
        let forgotten = job("inactive", "dead", startedAt: nil)
        let running = job("activating", "start", startedAt: 1000)
        #expect(
            shown(by: judge(), of: [(running, 1000), (forgotten, 2000)], until: 9000)
                == ["activating (start) [ok]", "ended with an unknown result [unknown]"])
        var broken = forgotten
        broken.loadState = "bad-setting"
        let well = job("inactive", "dead", result: "success", startedAt: 1000)
        #expect(
            shown(by: judge(), of: [(well, 1000), (forgotten, 1001), (broken, 2000)], until: 9000)
                == ["inactive (dead) [ok]", "cannot be loaded (bad-setting) [critical]"])
        var removed = UnitProperties()
        (removed.loadState, removed.activeState) = ("not-found", "inactive")
        #expect(
            shown(by: judge(), of: [(removed, 1000), (forgotten, 2000)], until: 9000)
                == ["unit x.service not found [unknown]", "inactive (dead) [ok]"])
    }

    @Test(
        "a file that cannot be used for a while changes nothing about a failure",
        arguments: ["bad-setting", "masked", "not-found"])
    func unusableFile(loadState: String) {
        let forgotten = job("inactive", "dead", startedAt: nil)
        var unusable = forgotten
        (unusable.loadState, unusable.isForgottenWhenFailed) = (loadState, loadState == "bad-setting")
        let failed = job("failed", "failed", result: "exit-code", startedAt: 1000)
        let states = [(failed, 1000), (forgotten, 1500), (unusable, 2000), (forgotten, 3000)]
        let shown = shown(by: judge(), of: states, until: 9000)
        #expect(shown.count == 3)
        #expect(shown.last == "failed (exit-code) [critical]")
        let again = states.dropLast() + [(job("activating", "start", startedAt: 3000), 3000)]
        #expect(self.shown(by: judge(), of: Array(again), until: 9000) == shown)
    }

    @Test("while a failure holds, a run whose end was not seen is reported as unknown")
    func unseenEndOfFailed() {
        var judge = judge()
        _ = judge.judge(job("failed", "failed", result: "exit-code", startedAt: 1000), at: .milliseconds(1500))
        let running = job("activating", "start", startedAt: 2000)
        _ = judge.judge(running, at: .milliseconds(2000))
        #expect(judge.pendingStatus(of: running).text == "activating (start)")
        let forgotten = job("inactive", "dead", startedAt: nil)
        #expect(judge.judge(forgotten, at: .milliseconds(3000)).verdict == .wait)
        #expect(judge.pendingStatus(of: forgotten).text == "ended with an unknown result")
    }

    @Test("a failure that must be found twice is counted, even if the unit is forgotten")
    func forgottenAndCounted() {
        let states = [
            (job("failed", "failed", result: "exit-code", startedAt: 1000), 1100),
            (job("inactive", "dead", startedAt: nil), 1110),
        ]
        let judge = judge(failures: 2, shown: .ok)
        #expect(shown(by: judge, of: states, until: 20_000) == [])
        #expect(shown(by: judge, of: states, until: 40_000) == ["failed (exit-code) [critical]"])
    }
}
