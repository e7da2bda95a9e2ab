// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusModel
import SystemdClient
import Testing

@testable import StatusSources

@Suite("Which of a unit's states are shown") struct UnitJudgeTests: UnitFixture {
    @Test("a restart loop is one change each time it is restarted")
    func restartLoop() {
        var judge = judge()
        var shown: [String] = []
        func take(_ properties: UnitProperties, _ time: Int) {
            if case .show(let status) = judge.judge(properties, at: .milliseconds(time)).verdict {
                let text = "\(status.text) [\(status.level.rawValue)]"
                if shown.last != text { shown.append(text) }
            }
        }
        take(unit("active", "running"), 0)
        // Before the first restart it failed briefly, as before all others.
        take(unit("failed", "failed", result: "exit-code"), 999)
        for restart in 0..<3 {
            let begin = 1000 + restart * 1000
            take(unit("activating", "auto-restart", result: "exit-code", restarts: restart), begin)
            take(unit("activating", "auto-restart", result: "exit-code", restarts: restart + 1), begin + 50)
            take(unit("activating", "auto-restart-queued", result: "success", restarts: restart + 1), begin + 55)
            take(unit("inactive", "dead", restarts: restart + 1), begin + 60)
            take(unit("activating", "start", restarts: restart + 1), begin + 100)
            take(unit("active", "running", restarts: restart + 1), begin + 200)
            take(unit("active", "running", restarts: restart + 1, status: "Serving"), begin + 300)
            take(unit("deactivating", "stop-sigterm", restarts: restart + 1), begin + 400)
            take(unit("failed", "failed", result: "exit-code", restarts: restart + 1), begin + 500)
        }
        take(unit("failed", "failed", result: "start-limit-hit"), 8500)
        take(unit("failed", "failed", result: "start-limit-hit"), 8700)
        #expect(
            shown == [
                "active (running) [ok]", "activating (auto-restart) after exit-code [warning]",
                "activating (auto-restart) after exit-code, 2 times [warning]",
                "activating (auto-restart) after exit-code, 3 times [warning]", "failed: started too often [critical]",
            ])
    }

    @Test("a failure of which the first state says that it is new is shown when it has held for a while")
    func newFailure() {
        var judge = judge()
        var failed = unit("failed", "failed", result: "timeout")
        failed.changedAt = .milliseconds(9_900)
        let first = judge.judge(failed, at: .seconds(10))
        #expect((first.verdict, first.again) == (.wait, .milliseconds(10_100)))
        let status = UnitStatus(.critical, "failed: timed out")
        #expect(judge.judge(failed, at: .milliseconds(10_100)).verdict == .show(status))
    }

    @Test(
        "the state after a restart is shown when it has held for five seconds, whatever the service reports meanwhile")
    func settles() {
        var judge = judge()
        _ = judge.judge(unit("activating", "auto-restart", result: "signal"), at: .seconds(10))
        let running = judge.judge(unit("active", "running"), at: .seconds(11))
        #expect(running.verdict == .wait)
        #expect(running.again == .seconds(16))
        #expect(judge.judge(unit("active", "running", status: "Serving"), at: .seconds(13)).again == .seconds(16))
        let settled = judge.judge(unit("active", "running", status: "Serving"), at: .seconds(16))
        #expect(settled.verdict == .show(UnitStatus(.ok, "Serving")))
        #expect(settled.again == nil)
    }

    @Test("a oneshot that runs again after an unseen failure is not ok, however long it runs")
    func missedRestartOfOneshot() {
        var judge = judge()
        var running = backup(startedAt: .seconds(100))
        (running.restarts, running.changedAt) = (3, .seconds(100))
        let restarted = judge.judge(running, at: .seconds(160))
        #expect(restarted.verdict == .show(UnitStatus(.warning, "activating (auto-restart), 3 times")))
        #expect(judge.judge(running, at: .seconds(170)).verdict == .wait)
    }

    @Test("the time that systemd waits before it restarts a oneshot is not part of its run")
    func waitForRestart() {
        var judge = judge(runtime: .seconds(10))
        var waiting = backup(startedAt: .seconds(100))
        (waiting.subState, waiting.result) = ("auto-restart", "exit-code")
        _ = judge.judge(waiting, at: .seconds(100))
        // Since systemd 257, it counts as started when it begins to wait.
        var running = backup(startedAt: .seconds(100))
        running.restarts = 1
        #expect(judge.judge(running, at: .seconds(130)).verdict == .wait)
        #expect(judge.judge(running, at: .seconds(136)).again == .seconds(140))
        #expect(
            judge.judge(running, at: .seconds(140)).verdict
                == .show(UnitStatus(.critical, "activating for more than 10s")))
    }

    @Test(
        "a restart does not count as settled because settings changed, or because the unit is seen for the first time")
    func restartAndSettings() {
        var judge = judge(shown: .warning)
        _ = judge.judge(unit("activating", "auto-restart", result: "signal"), at: .seconds(10))
        _ = judge.judge(unit("active", "running", restarts: 1), at: .seconds(11))
        let schedule = CheckSchedule(interval: .seconds(1), failures: 1, successes: 1)
        judge.change(runtime: nil, schedule: schedule, shown: .warning)
        #expect(judge.judge(unit("active", "running", restarts: 1), at: .seconds(12)).verdict == .wait)
        var first = self.judge()
        var restarted = unit("active", "running", restarts: 3)
        restarted.activeAt = .seconds(11)
        let (verdict, again) = first.judge(restarted, at: .seconds(12))
        #expect(verdict == .show(UnitStatus(.warning, "activating (auto-restart), 3 times")))
        #expect(again == .seconds(16))
    }

    @Test(
        "a restart that is known only from the count is shown, and the later state once it has lasted for five seconds"
    )
    func missedRestarts() {
        var judge = judge()
        #expect(
            judge.judge(unit("active", "running", restarts: 0), at: .seconds(1)).verdict
                == .show(UnitStatus(.ok, "active (running)")))
        let restarted = UnitStatus(.warning, "activating (auto-restart), 5 times")
        let first = judge.judge(unit("active", "running", restarts: 5), at: .seconds(11))
        #expect(first.verdict == .show(restarted))
        #expect(first.again == .seconds(16))
        #expect(judge.judge(unit("active", "running", restarts: 5), at: .seconds(12)).verdict == .wait)
        // It starts, and has been restarted again.
        let second = judge.judge(unit("activating", "start", restarts: 6), at: .seconds(14))
        #expect(second.verdict == .show(UnitStatus(.warning, "activating (auto-restart), 6 times")))
        #expect(judge.judge(unit("active", "running", restarts: 6), at: .seconds(15)).again == .seconds(20))
        let settled = judge.judge(unit("active", "running", restarts: 6), at: .seconds(20))
        #expect(settled.verdict == .show(UnitStatus(.ok, "active (running)")))
    }

    @Test("a restart that is known from the count and was long ago is not shown")
    func oldRestart() {
        var judge = judge()
        _ = judge.judge(unit("active", "running"), at: .seconds(1))
        var restarted = unit("active", "running", restarts: 1)
        restarted.activeAt = .seconds(2)
        // Its configuration was reloaded a second ago.
        restarted.changedAt = .seconds(3599)
        #expect(judge.judge(restarted, at: .seconds(3600)).verdict == .show(UnitStatus(.ok, "active (running)")))
        restarted.restarts = 2
        restarted.activeAt = .seconds(3657)
        let (verdict, again) = judge.judge(restarted, at: .seconds(3660))
        #expect(verdict == .show(UnitStatus(.warning, "activating (auto-restart), 2 times")))
        #expect(again == .seconds(3662))
    }

    @Test("the count of restarts begins again when the unit is started")
    func restartsFromAnew() {
        var judge = judge()
        _ = judge.judge(unit("activating", "auto-restart", result: "signal", restarts: 5), at: .seconds(1))
        _ = judge.judge(unit("active", "running", restarts: 0), at: .seconds(2))
        let restarted = judge.judge(unit("active", "running", restarts: 1), at: .seconds(3))
        #expect(restarted.verdict == .show(UnitStatus(.warning, "activating (auto-restart)")))
    }

    @Test("a failure after which something else starts the unit at once is shown until it has run for five seconds")
    func startedBySomebodyElse() {
        var judge = judge()
        _ = judge.judge(unit("active", "running"), at: .seconds(1))
        for second in 2...4 {
            let failed = judge.judge(unit("failed", "failed", result: "exit-code"), at: .milliseconds(second * 1000))
            #expect(failed.verdict == .wait)
            _ = judge.judge(unit("failed", "failed", result: "success"), at: .milliseconds(second * 1000 + 5))
            let started = judge.judge(unit("activating", "start"), at: .milliseconds(second * 1000 + 10))
            #expect(started.verdict == .show(UnitStatus(.critical, "failed (exit-code)")))
            let running = judge.judge(unit("active", "running"), at: .milliseconds(second * 1000 + 20))
            #expect(running.verdict == .wait)
            #expect(running.again == .milliseconds(second * 1000 + 5020))
        }
        let settled = judge.judge(unit("active", "running"), at: .milliseconds(9020))
        #expect(settled.verdict == .show(UnitStatus(.ok, "active (running)")))
    }

    @Test("a failed unit that is started by hand is ok at once")
    func startedByHand() {
        var judge = judge()
        _ = judge.judge(unit("failed", "failed", result: "exit-code"), at: .seconds(1))
        _ = judge.judge(unit("failed", "failed", result: "exit-code"), at: .seconds(2))
        #expect(judge.judge(unit("failed", "failed", result: "success"), at: .seconds(9)).verdict == .wait)
        let running = judge.judge(unit("active", "running"), at: .milliseconds(9010))
        #expect(running.verdict == .show(UnitStatus(.ok, "active (running)")))
    }

    @Test("a unit in a crash loop is never ok, however long it takes to start")
    func slowCrashLoop() {
        var judge = judge()
        _ = judge.judge(unit("active", "running"), at: .seconds(1))
        for (number, round) in stride(from: 10, to: 60, by: 10).enumerated() {
            let states = [
                (unit("activating", "auto-restart", result: "exit-code", restarts: number), 0),
                (unit("activating", "start", restarts: number + 1), 1),
                (unit("activating", "start", restarts: number + 1), 6),
                (unit("active", "running", restarts: number + 1), 7),
                (unit("deactivating", "stop-post", result: "exit-code", restarts: number + 1), 8),
            ]
            for (state, second) in states {
                guard case .show(let status) = judge.judge(state, at: .seconds(round + second)).verdict else {
                    continue
                }
                #expect(status.level == .warning)
            }
        }
        _ = judge.judge(unit("active", "running", restarts: 5), at: .seconds(60))
        #expect(
            judge.judge(unit("active", "running", restarts: 5), at: .seconds(65)).verdict
                == .show(UnitStatus(.ok, "active (running)")))
    }

    @Test("a service that reloads again and again after a restart settles, too")
    func reloads() {
        var judge = judge()
        _ = judge.judge(unit("active", "running"), at: .seconds(1))
        _ = judge.judge(unit("activating", "auto-restart", result: "signal"), at: .seconds(10))
        for second in 11...15 {
            let state = second % 2 == 0 ? unit("reloading", "reload") : unit("active", "running")
            #expect(judge.judge(state, at: .seconds(second)).verdict == .wait)
        }
        #expect(
            judge.judge(unit("reloading", "reload-notify"), at: .seconds(16)).verdict
                == .show(UnitStatus(.ok, "reloading (reload-notify)")))
    }

    @Test("a unit that is stopped while it is restarted is shown as stopped 200 ms later")
    func stoppedMeanwhile() {
        var judge = judge()
        _ = judge.judge(unit("activating", "auto-restart"), at: .seconds(10))
        #expect(judge.judge(unit("inactive", "dead"), at: .seconds(11)).again == .milliseconds(11_200))
        #expect(
            judge.judge(unit("inactive", "dead"), at: .milliseconds(11_200)).verdict
                == .show(UnitStatus(.warning, "inactive (dead)")))
        #expect(
            judge.judge(unit("active", "running"), at: .seconds(12)).verdict
                == .show(UnitStatus(.ok, "active (running)")))
    }

    @Test("a oneshot is ok while it runs; past its runtime it is critical until it ends")
    func runtime() {
        var unlimited = judge()
        let (verdict, again) = unlimited.judge(backup(startedAt: .seconds(100)), at: .seconds(100_000))
        #expect(verdict == .show(UnitStatus(.ok, "activating (start)")))
        #expect(again == nil)
        var limited = judge(runtime: .seconds(60))
        let begun = limited.judge(backup(startedAt: .seconds(100)), at: .seconds(101))
        #expect(begun.verdict == .show(UnitStatus(.ok, "activating (start)")))
        #expect(begun.again == .seconds(160))
        #expect(
            limited.judge(backup(startedAt: .seconds(100)), at: .seconds(160)).verdict
                == .show(UnitStatus(.critical, "activating for more than 1min")))
        var ended = backup(startedAt: .seconds(100))
        ended.activeState = "inactive"
        ended.subState = "dead"
        #expect(
            limited.judge(ended, at: .seconds(170)).verdict == .show(UnitStatus(.ok, "inactive (dead)")))
    }

    @Test(
        "a failed oneshot is not ok while it runs again, and each of its failures counts", arguments: [1, 3])
    func failingOneshot(failures: Int) {
        var judge = judge(failures: failures)
        _ = judge.judge(unit("inactive", "dead"), at: .zero)
        let failed = UnitStatus(.critical, "failed (exit-code)")
        for number in 1...failures {
            let begin = Duration.seconds(100 * number)
            let run = judge.judge(backup(startedAt: begin), at: begin).verdict
            let counted = number == failures ? UnitJudge.Verdict.show(failed) : .hold(failed, number, of: failures)
            #expect(run == (number == 1 ? .show(UnitStatus(.ok, "activating (start)")) : counted))
            let end = unit("failed", "failed", result: "exit-code")
            #expect(judge.judge(end, at: begin + .seconds(1)).verdict == .wait)
            let verdict = judge.judge(end, at: begin + .seconds(2)).verdict
            #expect(verdict == counted)
        }
        #expect(judge.judge(backup(startedAt: .seconds(1000)), at: .seconds(1000)).verdict == .wait)
        var done = backup(startedAt: .seconds(1000))
        (done.activeState, done.subState) = ("inactive", "dead")
        #expect(judge.judge(done, at: .seconds(1001)).verdict == .show(UnitStatus(.ok, "inactive (dead)")))
    }

    @Test("a failed oneshot does not become ok because it exceeded its runtime")
    func overdueOneshot() {
        var judge = judge(runtime: .seconds(60))
        _ = judge.judge(unit("failed", "failed", result: "exit-code"), at: .seconds(1))
        let again = backup(startedAt: .seconds(2))
        #expect(judge.judge(again, at: .seconds(2)).verdict == .wait)
        #expect(
            judge.judge(again, at: .seconds(70)).verdict
                == .show(UnitStatus(.critical, "activating for more than 1min")))
        #expect(judge.hasFailed)
    }

    @Test("a failed oneshot is not ok while it runs again, whatever started it")
    func restartedOneshot() {
        var judge = judge()
        _ = judge.judge(backup(startedAt: .zero), at: .zero)
        _ = judge.judge(unit("failed", "failed", result: "exit-code"), at: .seconds(1))
        // Before it was known whether that was temporary.
        let missed = judge.judge(backup(startedAt: .seconds(1)), at: .seconds(1)).verdict
        #expect(missed == .show(UnitStatus(.critical, "failed (exit-code)")))
        #expect(judge.judge(backup(startedAt: .seconds(1)), at: .seconds(10)).verdict == .wait)
        var last = backup(startedAt: .seconds(1))
        (last.activeState, last.subState) = ("deactivating", "stop-post")
        #expect(judge.judge(last, at: .seconds(20)).verdict == .wait)
        let restarted = unit("activating", "auto-restart", result: "exit-code", restarts: 1)
        guard case .show(let status) = judge.judge(restarted, at: .seconds(21)).verdict else {
            Issue.record("nothing is said of a restart")
            return
        }
        #expect(status.level == .warning)
        #expect(judge.judge(backup(startedAt: .seconds(22)), at: .seconds(22)).verdict == .wait)
        #expect(judge.judge(backup(startedAt: .seconds(22)), at: .seconds(30)).verdict == .wait)
    }

    @Test("a worse state counts when it was found several times in a row, an interval apart")
    func failures() {
        var judge = judge(failures: 3, shown: .ok)
        let failed = unit("failed", "failed", result: "exit-code")
        let status = UnitStatus(.critical, "failed (exit-code)")
        _ = judge.judge(unit("active", "running"), at: .seconds(1))
        #expect(judge.judge(failed, at: .milliseconds(9800)).verdict == .wait)
        let first = judge.judge(failed, at: .seconds(10))
        #expect(first.verdict == .hold(status, 1, of: 3))
        #expect(first.again == .seconds(40))
        // An early reading, such as a refresh, does not count; nor does a different bad state.
        let early = judge.judge(failed, at: .seconds(20))
        #expect(early.verdict == .hold(status, 1, of: 3))
        #expect(early.again == .seconds(40))
        let stopping = unit("deactivating", "stop")
        #expect(
            judge.judge(stopping, at: .seconds(30)).verdict
                == .hold(UnitStatus(.warning, "deactivating (stop)"), 1, of: 3))
        _ = judge.judge(failed, at: .seconds(31))
        #expect(judge.judge(failed, at: .seconds(40)).verdict == .hold(status, 2, of: 3))
        #expect(judge.judge(failed, at: .seconds(70)).verdict == .show(status))
    }

    @Test("a unit that has failed and is started again is not a failed one with a good result")
    func startedAgain() {
        var judge = judge(successes: 3)
        let failed = UnitStatus(.critical, "failed (signal)")
        #expect(judge.judge(unit("failed", "failed", result: "signal"), at: .seconds(10)).verdict == .show(failed))
        #expect(judge.judge(unit("failed", "failed", result: "success"), at: .seconds(20)).verdict == .wait)
        let running = UnitStatus(.ok, "active (running)")
        #expect(judge.judge(unit("active", "running"), at: .seconds(20)).verdict == .hold(running, 1, of: 3))
        #expect(judge.judge(unit("active", "running"), at: .seconds(50)).verdict == .hold(running, 2, of: 3))
        #expect(judge.judge(unit("active", "running"), at: .seconds(80)).verdict == .show(running))
    }

    @Test("a good state in between restarts the count")
    func interrupted() {
        var judge = judge(failures: 2, shown: .ok)
        let failed = unit("failed", "failed")
        #expect(judge.judge(failed, at: .seconds(10)).verdict == .hold(UnitStatus(.critical, "failed"), 1, of: 2))
        #expect(
            judge.judge(unit("active", "running"), at: .seconds(15)).verdict
                == .show(UnitStatus(.ok, "active (running)")))
        _ = judge.judge(failed, at: .seconds(20))
        #expect(judge.judge(failed, at: .seconds(21)).verdict == .hold(UnitStatus(.critical, "failed"), 1, of: 2))
    }
}
