// SPDX-License-Identifier: Apache-2.0

import StatusModel
import SystemdClient
import Testing

@testable import StatusSources

@Suite("The meaning of a unit's properties") struct UnitStatusTests {
    private func unit(
        _ active: String, _ sub: String, load: String = "loaded", result: String? = nil, status: String? = nil,
        type: String? = nil, remains: Bool = false, frozen: Bool = false, name: String = "x.service",
        change: (inout UnitProperties) -> Void = { _ in }
    ) -> UnitStatus {
        var properties = UnitProperties()
        properties.loadState = load
        properties.activeState = active
        properties.subState = sub
        properties.result = result
        properties.statusText = status
        properties.serviceType = type
        properties.remainsAfterExit = remains
        properties.isFrozen = frozen
        change(&properties)
        return UnitStatus(properties, of: name)
    }

    @Test("a running unit is ok, with its own status text; one that starts or stops is a warning")
    func running() {
        #expect(unit("active", "running") == UnitStatus(.ok, "active (running)"))
        #expect(unit("active", "running", status: "Serving") == UnitStatus(.ok, "Serving"))
        #expect(unit("active", "active") == UnitStatus(.ok, "active"))
        #expect(unit("reloading", "reload", status: "Serving") == UnitStatus(.ok, "Serving"))
        #expect(unit("refreshing", "refresh", status: "Serving") == UnitStatus(.ok, "Serving"))
        #expect(unit("activating", "auto-restart") == UnitStatus(.warning, "activating (auto-restart)"))
        #expect(
            unit("activating", "auto-restart", result: "signal")
                == UnitStatus(.warning, "activating (auto-restart) after signal"))
        #expect(
            unit("activating", "auto-restart-queued", type: "oneshot")
                == UnitStatus(.warning, "activating (auto-restart-queued)"))
        #expect(unit("activating", "start", type: "oneshot") == UnitStatus(.ok, "activating (start)"))
        #expect(unit("activating", "start", type: "oneshot", remains: true) == UnitStatus(.ok, "activating (start)"))
        #expect(unit("activating", "start", status: "Loading") == UnitStatus(.warning, "Loading"))
        #expect(
            unit("deactivating", "stop-sigterm", status: "Serving")
                == UnitStatus(.warning, "deactivating (stop-sigterm)"))
        #expect(unit("deactivating", "stop-post", type: "oneshot") == UnitStatus(.ok, "deactivating (stop-post)"))
        #expect(
            unit("deactivating", "stop", type: "oneshot", remains: true) == UnitStatus(.warning, "deactivating (stop)"))
        #expect(unit("maintenance", "x") == UnitStatus(.warning, "maintenance (x)"))
    }

    @Test("a unit that may not run is a warning, whatever its last status text")
    func frozen() {
        #expect(
            unit("active", "running", status: "Serving", frozen: true)
                == UnitStatus(.warning, "active (running), frozen"))
        #expect(
            unit("activating", "start", type: "oneshot", frozen: true)
                == UnitStatus(.warning, "activating (start), frozen"))
        #expect(
            unit("activating", "auto-restart", result: "signal", frozen: true)
                == UnitStatus(.warning, "activating (auto-restart) after signal"))
    }

    @Test("a failed unit is critical, with its result")
    func failed() {
        #expect(unit("failed", "failed", result: "exit-code") == UnitStatus(.critical, "failed (exit-code)"))
        #expect(unit("failed", "failed") == UnitStatus(.critical, "failed"))
    }

    @Test("a unit that does not run is a warning, unless it is a oneshot")
    func inactive() {
        #expect(unit("inactive", "dead", status: "Serving") == UnitStatus(.warning, "inactive (dead)"))
        #expect(unit("inactive", "dead", type: "oneshot") == UnitStatus(.ok, "inactive (dead)"))
        #expect(unit("inactive", "dead", type: "oneshot", remains: true) == UnitStatus(.warning, "inactive (dead)"))
        #expect(unit("inactive", "dead", load: "masked") == UnitStatus(.warning, "masked"))
        #expect(
            unit("inactive", "dead", load: "bad-setting") == UnitStatus(.critical, "cannot be loaded (bad-setting)"))
    }

    @Test("a unit that does not exist is unknown, unless it still runs")
    func missing() {
        #expect(unit("inactive", "dead", load: "not-found") == UnitStatus(.unknown, "unit x.service not found"))
        #expect(
            unit("active", "running", load: "not-found") == UnitStatus(.ok, "active (running), unit file missing"))
    }

    @Test(
        "a unit whose file was masked, removed or broken while it is in use says so, at the same level",
        arguments: [
            ("masked", ", masked"), ("not-found", ", unit file missing"), ("bad-setting", ", unit file invalid"),
            ("error", ", unit file unreadable"), ("merged", ""),
        ])
    func fileProblem(load: String, note: String) {
        #expect(unit("active", "running", load: load, status: "Serving") == UnitStatus(.ok, "Serving" + note))
        #expect(unit("activating", "start", load: load) == UnitStatus(.warning, "activating (start)" + note))
        #expect(
            unit("failed", "failed", load: load, result: "timeout") == UnitStatus(.critical, "failed: timed out" + note)
        )
    }

    @Test(
        "a failed unit says why, with the exit status or signal",
        arguments: [
            ("exit-code", .status(3), "exit status 3"), ("exit-code", .status(203), "exit status 203/EXEC"),
            ("exit-code", .status(209), "exit status 209/STDOUT"), ("exit-code", .status(216), "exit status 216/GROUP"),
            ("exit-code", .status(238), "exit status 238/STATE_DIRECTORY"),
            ("exit-code", .status(199), "exit status 199"),
            ("signal", .signal(9), "ended by signal 9, Killed"),
            ("core-dump", .signal(11), "ended by signal 11, Segmentation fault, core dumped"),
            ("timeout", nil, "timed out"), ("watchdog", .signal(6), "watchdog timed out"),
            ("start-limit-hit", .status(3), "started too often"), ("oom-kill", .signal(9), "out of memory"),
            ("resources", nil, "a system operation failed (resources)"),
            ("protocol", nil, "did not start as its Type= requires (protocol)"),
            ("trigger-limit-hit", nil, "triggered too often"),
            ("service-start-limit-hit", nil, "its service was started too often"),
            ("unit-start-limit-hit", nil, "its unit was started too often"),
            ("mount-start-limit-hit", nil, "its mount was started too often"),
        ] as [(String, UnitProperties.Exit?, String)])
    func reasons(result: String, exit: UnitProperties.Exit?, reason: String) {
        #expect(
            unit("failed", "failed", result: result) { $0.exit = exit } == UnitStatus(.critical, "failed: \(reason)"))
        let restarted = unit("activating", "auto-restart", result: result) { ($0.exit, $0.restarts) = (exit, 1) }
        #expect(restarted == UnitStatus(.warning, "activating (auto-restart): \(reason), 2 times"))
    }

    @Test("a failed unit that has started too often says so once")
    func startedTooOften() {
        func refused(_ result: String, _ exit: UnitProperties.Exit) -> String {
            unit("failed", "failed", result: result) { ($0.exit, $0.isStartedTooOften) = (exit, true) }.text
        }
        #expect(refused("exit-code", .status(4)) == "failed: exit status 4, started too often")
        #expect(refused("signal", .signal(9)) == "failed: ended by signal 9, Killed, started too often")
        #expect(refused("start-limit-hit", .signal(15)) == "failed: started too often")
    }

    @Test("a unit that was not started because of a condition or an assertion names it")
    func conditions() {
        func skipped(_ condition: String?, type: String? = nil, failure: UnitProperties.StartFailure? = nil)
            -> UnitStatus
        {
            unit("inactive", "dead", type: type) { ($0.failedCondition, $0.startFailure) = (condition, failure) }
        }
        #expect(
            skipped("ConditionPathExists=!/x") == UnitStatus(.warning, "condition failed: ConditionPathExists=!/x"))
        #expect(
            skipped("ConditionPathExists=/x", type: "oneshot")
                == UnitStatus(.ok, "condition failed: ConditionPathExists=/x"))
        #expect(skipped("", type: "oneshot") == UnitStatus(.ok, "condition failed"))
        #expect(skipped("AssertUser=x") == UnitStatus(.warning, "assertion failed: AssertUser=x"))
        #expect(
            skipped("AssertUser=x", type: "oneshot", failure: .assert)
                == UnitStatus(.critical, "inactive (dead), not started: assertion failed: AssertUser=x"))
        #expect(
            skipped("", type: "oneshot", failure: .assert)
                == UnitStatus(.critical, "inactive (dead), not started: an assertion failed"))
        #expect(
            unit("inactive", "dead", result: "exec-condition", type: "oneshot")
                == UnitStatus(.ok, "condition failed: ExecCondition="))
    }

    /// 2026-11-28 03:00:59 UTC and a day later.
    private let night = Duration.seconds(1_795_834_859), nextNight = Duration.seconds(1_795_921_259)

    @Test("a oneshot that does not run says when it ran, and when its timers start it again")
    func runs() {
        func job(
            _ last: Duration?, _ next: Duration?, by units: [String] = [], type: String = "oneshot"
        ) -> UnitStatus {
            unit("inactive", "dead", type: type) { ($0.lastRun, $0.nextRun, $0.triggeredBy) = (last, next, units) }
        }
        #expect(
            job(night, nextNight, by: ["x.timer"])
                == UnitStatus(.ok, "ran 2026-11-28 03:00 UTC, next 2026-11-29 03:00 UTC"))
        #expect(
            job(nil, nextNight, by: ["x.timer"]) == UnitStatus(.ok, "inactive (dead), next 2026-11-29 03:00 UTC"))
        #expect(
            job(night, nil, by: ["x.timer"])
                == UnitStatus(.ok, "ran 2026-11-28 03:00 UTC, no further run is scheduled"))
        #expect(job(night, nil, by: ["x.path"]) == UnitStatus(.ok, "ran 2026-11-28 03:00 UTC"))
        #expect(
            job(night, nextNight, by: ["x.timer"], type: "simple")
                == UnitStatus(.ok, "ran 2026-11-28 03:00 UTC, next 2026-11-29 03:00 UTC"))
        #expect(job(night, nil, type: "simple") == UnitStatus(.warning, "inactive (dead)"))
    }

    @Test("the text of a failed or running oneshot has no times, so a failing one does not change with each run")
    func noTimes() {
        func job(_ active: String, _ sub: String, _ result: String?) -> String {
            unit(active, sub, result: result, type: "oneshot") {
                ($0.lastRun, $0.nextRun, $0.triggeredBy) = (night, nextNight, ["x.timer"])
                $0.exit = .status(3)
            }.text
        }
        #expect(job("failed", "failed", "exit-code") == "failed: exit status 3")
        #expect(job("activating", "start", nil) == "activating (start)")
    }

    @Test("a timer says when it elapsed and elapses next, or that it will not")
    func timers() {
        func timer(_ sub: String, _ last: Duration?, _ next: Duration?) -> UnitStatus {
            unit("active", sub, name: "x.timer") { ($0.lastRun, $0.nextRun) = (last, next) }
        }
        #expect(timer("waiting", nil, nextNight) == UnitStatus(.ok, "active (waiting), next 2026-11-29 03:00 UTC"))
        #expect(
            timer("waiting", night, nextNight)
                == UnitStatus(.ok, "active (waiting), ran 2026-11-28 03:00 UTC, next 2026-11-29 03:00 UTC"))
        #expect(
            timer("elapsed", night, nil)
                == UnitStatus(.ok, "active (elapsed), ran 2026-11-28 03:00 UTC, no further run is scheduled"))
        #expect(timer("elapsed", nil, nil) == UnitStatus(.ok, "active (elapsed), no further run is scheduled"))
        #expect(timer("running", night, nil) == UnitStatus(.ok, "active (running)"))
        #expect(unit("active", "waiting", name: "x.path") == UnitStatus(.ok, "active (waiting)"))
        #expect(unit("inactive", "dead", name: "x.timer") == UnitStatus(.warning, "inactive (dead)"))
    }
}
