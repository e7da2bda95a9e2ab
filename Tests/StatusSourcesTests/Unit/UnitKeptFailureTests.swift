// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusModel
import SystemdClient
import Testing

@testable import StatusSources

@Suite("How long a unit's failure is kept") struct UnitKeptFailureTests: UnitFixture {
    @Test(
        "a failed oneshot is not ok after a skipped run or a restart that was called off, only after a good run"
    )
    func skippedRun() {
        func oneshot(_ active: String, _ sub: String, result: String = "success") -> UnitProperties {
            var properties = unit(active, sub, result: result)
            properties.serviceType = "oneshot"
            return properties
        }
        for (failed, ended) in [
            (oneshot("failed", "failed", result: "exit-code"), oneshot("inactive", "dead", result: "exec-condition")),
            (oneshot("activating", "auto-restart", result: "exit-code"), oneshot("inactive", "dead")),
        ] {
            var judge = judge()
            let before = judge.judge(failed, at: .seconds(10)).verdict
            guard case .show(let failure) = before else {
                Issue.record("\(before)")
                continue
            }
            let kept = UnitStatus(failure.level, "inactive (dead) after a failure")
            #expect(judge.judge(ended, at: .seconds(20)).verdict != .show(UnitStatus(.ok, "inactive (dead)")))
            #expect(judge.judge(ended, at: .seconds(21)).verdict == .show(kept))
            // By now systemd has forgotten the result.
            #expect(judge.judge(oneshot("inactive", "dead"), at: .seconds(30)).verdict == .show(kept))
            #expect(judge.judge(oneshot("activating", "start"), at: .seconds(40)).verdict == .wait)
            #expect(
                judge.judge(oneshot("inactive", "dead"), at: .seconds(50)).verdict
                    == .show(UnitStatus(.ok, "inactive (dead)")))
        }
        var first = judge()
        #expect(
            first.judge(oneshot("inactive", "dead", result: "exec-condition"), at: .seconds(10)).verdict
                == .show(UnitStatus(.ok, "condition failed: ExecCondition=")))
        #expect(!first.hasFailed)
    }

    @Test("a restart that was not seen and succeeded does not count as cancelled")
    func unseenRestart() {
        var judge = judge()
        var waiting = unit("activating", "auto-restart", result: "exit-code", restarts: 1)
        waiting.serviceType = "oneshot"
        _ = judge.judge(waiting, at: .seconds(10))
        var done = unit("inactive", "dead", result: "success", restarts: 2)
        done.serviceType = "oneshot"
        _ = judge.judge(done, at: .seconds(700))
        #expect(judge.judge(done, at: .seconds(701)).verdict == .show(UnitStatus(.ok, "inactive (dead)")))
    }

    @Test("a good run ends a kept failure, even if only its time was seen")
    func shortRun() {
        var judge = judge()
        var failed = backup(startedAt: .seconds(1))
        (failed.activeState, failed.subState, failed.result) = ("failed", "failed", "exit-code")
        _ = judge.judge(failed, at: .seconds(10))
        var ended = backup(startedAt: .seconds(20))
        (ended.activeState, ended.subState, ended.result) = ("inactive", "dead", "exec-condition")
        _ = judge.judge(ended, at: .seconds(20))
        let kept = UnitStatus(.critical, "inactive (dead) after a failure")
        #expect(judge.judge(ended, at: .seconds(21)).verdict == .show(kept))
        ended.startedAt = nil
        #expect(judge.judge(ended, at: .seconds(22)).verdict == .show(kept))
        (ended.startedAt, ended.result) = (.seconds(30), "success")
        #expect(judge.judge(ended, at: .seconds(31)).verdict == .show(UnitStatus(.ok, "inactive (dead)")))
    }

    @Test(
        "a oneshot that was not started stays critical after a lost connection, and after a restart that was called off"
    )
    func notStartedAndForgotten() {
        var judge = judge()
        var oneshot = backup(startedAt: .seconds(1))
        (oneshot.subState, oneshot.result) = ("auto-restart", "exit-code")
        _ = judge.judge(oneshot, at: .seconds(1))
        (oneshot.activeState, oneshot.subState) = ("inactive", "dead")
        _ = judge.judge(oneshot, at: .seconds(2))
        #expect(
            judge.judge(oneshot, at: .seconds(3)).verdict
                == .show(UnitStatus(.warning, "inactive (dead) after a failure")))
        oneshot.startFailure = .dependency
        let failure = UnitStatus(.critical, "inactive (dead), not started: a dependency failed")
        #expect(judge.judge(oneshot, at: .seconds(4)).verdict == .show(failure))
        (oneshot.startFailure, oneshot.startedAt, oneshot.result) = (nil, nil, "success")
        #expect(
            judge.judge(oneshot, at: .seconds(5)).verdict
                == .show(UnitStatus(.critical, "inactive (dead) after a failure")))
    }

    @Test("a kept failure does not apply once the unit is masked or gone")
    func keptAndUnusable() {
        var judge = judge()
        var oneshot = unit("inactive", "dead")
        (oneshot.serviceType, oneshot.startFailure) = ("oneshot", .dependency)
        _ = judge.judge(oneshot, at: .seconds(1))
        oneshot.startFailure = nil
        oneshot.loadState = "masked"
        #expect(judge.judge(oneshot, at: .seconds(2)).verdict == .show(UnitStatus(.warning, "masked")))
        oneshot.loadState = "loaded"
        #expect(
            judge.judge(oneshot, at: .seconds(3)).verdict
                == .show(UnitStatus(.critical, "inactive (dead) after a failure")))
    }

    @Test("a oneshot whose restart was cancelled unseen is not ok")
    func unseenCallOff() {
        var judge = judge()
        var oneshot = backup(startedAt: .seconds(1))
        (oneshot.activeState, oneshot.subState, oneshot.result) = ("inactive", "dead", "success")
        #expect(judge.judge(oneshot, at: .seconds(10)).verdict == .show(UnitStatus(.ok, "inactive (dead)")))
        (oneshot.startedAt, oneshot.result) = (.seconds(20), "exit-code")
        #expect(
            judge.judge(oneshot, at: .seconds(30)).verdict
                == .show(UnitStatus(.warning, "inactive (dead) after a failure")))
    }

    @Test("changed settings do not end the count of failures of a oneshot that runs again")
    func countedOverSettings() {
        var judge = judge(failures: 3, shown: .ok)
        var failed = backup(startedAt: .seconds(10))
        (failed.activeState, failed.subState, failed.result) = ("failed", "failed", "exit-code")
        _ = judge.judge(failed, at: .seconds(20))
        _ = judge.judge(failed, at: .seconds(21))
        judge.change(
            runtime: nil, schedule: CheckSchedule(interval: .seconds(30), failures: 2, successes: 1), shown: .ok)
        let running = backup(startedAt: .seconds(25))
        let failure = UnitStatus(.critical, "failed (exit-code)")
        #expect(judge.judge(running, at: .seconds(25)).verdict == .hold(failure, 1, of: 2))
        #expect(judge.judge(running, at: .seconds(60)).verdict == .show(failure))
        #expect(judge.judge(running, at: .seconds(90)).verdict == .wait)
    }

    @Test("a service that was not started is a warning, like a stopped one")
    func serviceNotStarted() {
        var judge = judge()
        var service = unit("inactive", "dead")
        service.startFailure = .dependency
        let status = UnitStatus(.warning, "inactive (dead), not started: a dependency failed")
        #expect(judge.judge(service, at: .seconds(1)).verdict == .show(status))
        #expect(!judge.hasFailed)
    }

    @Test("a oneshot that systemd forgets stays “not started”, however often that is counted")
    func forgottenNotStarted() {
        var judge = judge(failures: 2, shown: .ok)
        var oneshot = unit("inactive", "dead")
        (oneshot.serviceType, oneshot.isForgottenWhenFailed, oneshot.startFailure) = ("oneshot", true, .dependency)
        _ = judge.judge(oneshot, at: .seconds(1))
        let failure = UnitStatus(.critical, "inactive (dead), not started: a dependency failed")
        #expect(judge.judge(oneshot, at: .seconds(40)).verdict == .show(failure))
        #expect(judge.pendingStatus(of: oneshot) == failure)
    }

    @Test("a oneshot that could not be started is not ok until a run succeeds")
    func notStarted() {
        var judge = judge()
        var oneshot = unit("inactive", "dead")
        oneshot.serviceType = "oneshot"
        #expect(judge.judge(oneshot, at: .seconds(1)).verdict == .show(UnitStatus(.ok, "inactive (dead)")))
        oneshot.startFailure = .dependency
        let failure = UnitStatus(.critical, "inactive (dead), not started: a dependency failed")
        #expect(judge.judge(oneshot, at: .seconds(2)).verdict == .show(failure))
        #expect(judge.judge(backup(startedAt: .seconds(3)), at: .seconds(3)).verdict == .wait)
        oneshot.startFailure = nil
        #expect(judge.judge(oneshot, at: .seconds(4)).verdict == .show(UnitStatus(.ok, "inactive (dead)")))
    }

    @Test("failures are still counted while a failed oneshot runs again")
    func countedWhileRunning() {
        var judge = judge(failures: 2, shown: .ok)
        var failed = backup(startedAt: .seconds(10))
        (failed.activeState, failed.subState, failed.result) = ("failed", "failed", "exit-code")
        _ = judge.judge(failed, at: .seconds(20))
        _ = judge.judge(failed, at: .seconds(21))
        let running = backup(startedAt: .seconds(25))
        _ = judge.judge(running, at: .seconds(25))
        let (verdict, again) = judge.judge(running, at: .seconds(60))
        #expect(verdict == .show(UnitStatus(.critical, "failed (exit-code)")))
        #expect(again == nil)
    }
}
