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

    @Test("an exit status or signal is that of the main process, or else of another command, in the same run")
    func exits() {
        #expect(exit("exit-code", main: "1 3 200") == .status(3))
        #expect(exit("signal", main: "2 9 200") == .signal(9))
        #expect(exit("core-dump", main: "3 11 200") == .signal(11))
        // nginx -t of ExecStartPre= fails, and the main process ended well, or badly in an earlier run.
        #expect(exit("exit-code", command: "1 4 150") == .status(4))
        #expect(exit("exit-code", main: "1 0 200", command: "1 4 250") == .status(4))
        #expect(exit("exit-code", main: "1 3 50", command: "1 4 150") == .status(4))
        #expect(exit("exit-code", main: "1 3 50", command: "") == nil)
        // The watchdog's signal is not the reason.
        #expect(exit("watchdog", main: "2 6 200") == nil)
        #expect(exit("success", main: "1 3 200") == nil)
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
    func nextRun() {
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

    @Test("the last run is known after the manager has unloaded the unit")
    func unloaded() {
        var loaded = properties(["InactiveExitTimestamp": "0", "ActiveState": "inactive"])
        loaded.keepKnowledge(of: properties(["InactiveExitTimestamp": "5000000"]))
        #expect(loaded.lastRun == .seconds(5))
    }
}
