// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import SystemdClient

@Suite("How a unit ran and will run") struct UnitRunTests {
    private func properties(_ values: [String: String], isService: Bool = true) -> UnitProperties {
        var properties = UnitProperties()
        properties.apply(values, isService: isService)
        return properties
    }

    /// How a failed service ended: its main process and a command, each with a code, a status and a time.
    private func exit(_ result: String, main: String? = nil, command: String? = nil) -> UnitProperties.Exit? {
        var values = ["Result": result, "ActiveState": "failed", "InactiveExitTimestampMonotonic": "100"]
        let parts = main?.split(separator: " ").map(String.init) ?? ["0", "0", "0"]
        values["ExecMainCode"] = parts[0]
        values["ExecMainStatus"] = parts[1]
        values["ExecMainExitTimestampMonotonic"] = parts[2]
        values["ExecStartPre"] = command
        return properties(values).exit
    }

    @Test("an exit status or signal is that of the first process that fits the result")
    func exits() {
        #expect(exit("exit-code", main: "1 3 200") == .status(3))
        #expect(exit("signal", main: "2 9 200") == .signal(9))
        #expect(exit("core-dump", main: "3 11 200") == .signal(11))
        // nginx -t of ExecStartPre= fails, the main process ended well, or ExecStopPost= failed after it.
        #expect(exit("exit-code", command: "1 4 150") == .status(4))
        #expect(exit("exit-code", main: "1 0 200", command: "1 4 250") == .status(4))
        #expect(exit("exit-code", main: "1 3 200", command: "1 4 250") == .status(3))
        // ExecStartPost= failed, and systemd ended the main process.
        #expect(exit("exit-code", main: "2 15 250", command: "1 4 200") == .status(4))
        #expect(exit("exit-code", main: "1 143 250", command: "1 4 200") == .status(4))
        // The watchdog's signal is not the reason.
        #expect(exit("watchdog", main: "2 6 200") == nil)
        #expect(exit("success", main: "1 3 200") == nil)
    }

    @Test("of several commands, a later one that was ended does not hide the one that failed")
    func commands() {
        let ended = properties([
            "Result": "exit-code", "ActiveState": "failed", "ExecStart": "2 15 300", "ExecStop": "1 9 200",
            "ExecMainCode": "2", "ExecMainStatus": "15", "ExecMainExitTimestampMonotonic": "300",
        ])
        #expect(ended.exit == .status(9))
        let checked = properties(["Result": "exit-code", "ActiveState": "failed", "ExecCondition": "1 255 200"])
        #expect(checked.exit == .status(255))
    }

    /// A service that failed with exit status 4, waited for its restart from 300 µs on, and was not started again.
    private let refused = [
        "Result": "exit-code", "ActiveState": "failed", "SubState": "failed", "ExecMainCode": "1",
        "ExecMainStatus": "4", "ExecMainExitTimestampMonotonic": "200", "InactiveExitTimestampMonotonic": "300",
        "NRestarts": "5",
    ]

    @Test("a unit that ended before it last waited for its restart has started too often, unless a condition failed")
    func startLimit() {
        #expect(properties(refused).exit == .status(4))
        #expect(properties(refused).isStartedTooOften)
        #expect(!properties(refused.merging(["InactiveExitTimestampMonotonic": "100"]) { $1 }).isStartedTooOften)
        #expect(!properties(refused.merging(["ActiveState": "activating"]) { $1 }).isStartedTooOften)
        let skipped = ["ConditionResult": "no", "ConditionTimestampMonotonic": "7"]
        #expect(!properties(refused.merging(skipped) { $1 }).isStartedTooOften)
    }

    @Test("how a command ended does not count for the next run, whose end must be read")
    func nextRun() {
        for next in [["InactiveExitTimestampMonotonic": "400"], ["NRestarts": "1"]] {
            var unit = properties([
                "Result": "exit-code", "ActiveState": "failed", "ExecStartPre": "1 4 200",
                "InactiveExitTimestampMonotonic": "100",
            ])
            #expect(unit.exit == .status(4))
            unit.apply(next, isService: true)
            #expect(unit.exit == nil)
            #expect(unit.lacksExit)
        }
    }

    @Test("a unit that waits for its restart tells how it ended, although its start has a later time")
    func restart() {
        let waiting = properties([
            "Result": "exit-code", "ActiveState": "activating", "SubState": "auto-restart", "ExecMainCode": "1",
            "ExecMainStatus": "3", "ExecMainExitTimestampMonotonic": "99", "InactiveExitTimestampMonotonic": "100",
        ])
        #expect(waiting.exit == .status(3))
    }

    @Test("a timer elapses next at the earlier one of its two times; 0 and the largest number are none")
    func nextElapse() {
        let none = "18446744073709551615"
        func next(_ wall: String, _ monotonic: String) -> Duration? {
            properties(
                ["NextElapseUSecRealtime": wall, "NextElapseUSecMonotonic": monotonic], isService: false
            ).nextRun
        }
        #expect(next("1795834859000000", none) == .seconds(1_795_834_859))
        #expect(next("1795834859000000", "0") == .seconds(1_795_834_859))
        #expect(next("0", none) == nil)
        // A time of the monotonic clock in the distant past is before any other one.
        #expect(next("99999999999000000", "1").map { $0 < .seconds(99_999_999_999) } == true)
        #expect(next("0", "1") != nil)
    }

    @Test("a timer's last run is when it elapsed, a service's is when it began to run")
    func lastRun() {
        let began = ["InactiveExitTimestamp": "5000000"]
        #expect(properties(began).lastRun == .seconds(5))
        #expect(properties(began, isService: false).lastRun == nil)
        #expect(properties(["LastTriggerUSec": "6000000"], isService: false).lastRun == .seconds(6))
    }

    @Test("the last run, and that it was skipped, are known after the manager has unloaded the unit")
    func unloaded() {
        var loaded = properties(["InactiveExitTimestamp": "0", "ActiveState": "inactive", "Result": "success"])
        loaded.keepKnowledge(
            of: properties([
                "InactiveExitTimestamp": "5000000", "InactiveExitTimestampMonotonic": "100",
                "ActiveState": "inactive", "Result": "exec-condition",
            ]))
        #expect(loaded.lastRun == .seconds(5))
        #expect(loaded.result == "exec-condition")
    }

    @Test("how commands ended, and which condition failed, are known after the manager has reloaded")
    func reloaded() {
        let main = ["ExecMainCode": "0", "ExecMainStatus": "0", "ExecMainExitTimestampMonotonic": "0"]
        let failed = refused.merging(main) { $1 }.merging(["ExecStartPre": "1 7 200"]) { $1 }
        let reloaded = failed.merging(["ExecStartPre": ""]) { $1 }
        func kept(_ values: [String: String], of former: [String: String]) -> UnitProperties {
            var unit = properties(values)
            unit.keepKnowledge(of: properties(former))
            return unit
        }
        #expect(kept(reloaded, of: failed).exit == .status(7))
        #expect(kept(reloaded, of: failed).isStartedTooOften)
        // There was another run.
        for other in [["InactiveExitTimestampMonotonic": "900"], ["NRestarts": "6"], ["Result": "signal"]] {
            #expect(kept(reloaded.merging(other) { $1 }, of: failed).exit == nil)
        }
        let asserted = ["ActiveState": "inactive", "AssertResult": "no", "AssertTimestampMonotonic": "7"]
        let named = asserted.merging(["Asserts": "AssertUser=x"]) { $1 }
        let forgotten = asserted.merging(["Asserts": ""]) { $1 }
        #expect(kept(forgotten, of: named).failedCondition == "AssertUser=x")
        #expect(kept(forgotten.merging(["AssertTimestampMonotonic": "8"]) { $1 }, of: named).failedCondition == "")
    }
}
