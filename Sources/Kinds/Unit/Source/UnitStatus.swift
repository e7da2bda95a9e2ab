// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusModel
import SystemdClient

/// The status that a unit's properties mean for its server.
struct UnitStatus: Equatable {
    let level: Level
    let text: String

    init(_ level: Level, _ text: String) {
        self.level = level
        self.text = text
    }

    init(_ unit: UnitProperties, of name: String) {
        switch (unit.activeState, unit.loadState) {
        case ("inactive", "not-found"): self.init(.unknown, "unit \(name) not found")
        case ("inactive", "masked"): self.init(.warning, "masked")
        case ("inactive", "loaded"), ("inactive", "merged"): self = Self.inactive(unit)
        case ("inactive", let problem): self.init(.critical, "cannot be loaded (\(problem))")
        default:
            let status = Self.inUse(unit, isTimer: name.hasSuffix(".timer"))
            self.init(status.level, status.text + (Self.fileProblems[unit.loadState] ?? ""))
        }
    }

    /// What is said of the file of a unit that still runs or has failed.
    private static let fileProblems = [
        "masked": ", masked", "not-found": ", unit file missing", "bad-setting": ", unit file invalid",
        "error": ", unit file unreadable",
    ]

    private static func inUse(_ unit: UnitProperties, isTimer: Bool) -> UnitStatus {
        switch unit.activeState {
        case "failed": UnitStatus(.critical, failed(unit))
        case "activating" where unit.isRestarted: UnitStatus(.warning, restarting(unit))
        case _ where unit.isFrozen: UnitStatus(.warning, text(unit, unit.subState) + ", frozen")
        case _ where unit.isActive: UnitStatus(.ok, isTimer ? waiting(unit) : running(unit))
        case "activating": UnitStatus(unit.isRunningToItsEnd ? .ok : .warning, running(unit))
        default:
            UnitStatus(
                unit.isRunningToItsEnd && unit.result ?? "success" == "success" ? .ok : .warning,
                text(unit, unit.subState))
        }
    }

    /// A oneshot, such as a backup, and what a timer starts, is ok while it does not run; every other unit is expected
    /// to run.
    private static func inactive(_ unit: UnitProperties) -> UnitStatus {
        let runsAgain = unit.runsToItsEnd || unit.hasTimers
        let level: Level = !runsAgain ? .warning : unit.startFailure == nil ? .ok : .critical
        let condition = unit.failedCondition.flatMap { $0.isEmpty ? nil : $0 }
        if let failure = unit.startFailure {
            let reason = failure == .assert ? condition.map { "assertion failed: \($0)" } : nil
            return UnitStatus(level, text(unit, unit.subState) + ", not started: \(reason ?? failure.phrase)")
        }
        if unit.failedCondition != nil {
            let kind = condition?.hasPrefix("Assert") == true ? "assertion" : "condition"
            return UnitStatus(level, "\(kind) failed" + (condition.map { ": \($0)" } ?? ""))
        }
        if unit.result == "exec-condition" { return UnitStatus(level, "condition failed: ExecCondition=") }
        return UnitStatus(level, unit.runsToItsEnd || unit.hasTimers ? runs(unit) : text(unit, unit.subState))
    }

    /// When it ran and when it runs next: `ran 2026-11-28 03:00 UTC, next 2026-11-29 03:00 UTC`.
    private static func runs(_ unit: UnitProperties) -> String {
        let last = unit.lastRun.map { "ran \(time($0))" } ?? text(unit, unit.subState)
        return unit.hasTimers ? "\(last), \(next(unit))" : last
    }

    private static func next(_ unit: UnitProperties) -> String {
        unit.nextRun.map { "next \(time($0))" } ?? "no further run is scheduled"
    }

    private static func time(_ sinceEpoch: Duration) -> String {
        Timestamp(milliseconds: sinceEpoch.components.seconds * 1000).text()
    }

    /// Why it failed; in systemd's word for the result if no better one is known.
    private static func failed(_ unit: UnitProperties) -> String {
        let reason = unit.reason.map { "failed: \($0)" } ?? text(unit, unit.result ?? unit.subState)
        return unit.isStartedTooOften && unit.result != "start-limit-hit" ? "\(reason), started too often" : reason
    }

    /// Why it is restarted, and how often since its start.
    private static func restarting(_ unit: UnitProperties) -> String {
        let reason = unit.reason.map { ": \($0)" } ?? unit.result.map { " after \($0)" } ?? ""
        let times = unit.restarts > 0 ? ", \(unit.restarts + 1) times" : ""
        return text(unit, unit.subState) + reason + times
    }

    private static func running(_ unit: UnitProperties) -> String { unit.statusText ?? text(unit, unit.subState) }

    /// When a timer elapsed and elapses next, which it does not know while its unit runs.
    private static func waiting(_ unit: UnitProperties) -> String {
        let state = text(unit, unit.subState)
        if unit.subState == "running" { return state }
        return [state, unit.lastRun.map { "ran \(time($0))" }, next(unit)].compactMap(\.self).joined(separator: ", ")
    }

    /// As in `systemctl status`: `active (running)`.
    private static func text(_ unit: UnitProperties, _ detail: String) -> String {
        detail.isEmpty || detail == unit.activeState ? unit.activeState : "\(unit.activeState) (\(detail))"
    }
}

extension UnitProperties.StartFailure {
    fileprivate var phrase: String {
        switch self {
        case .dependency: "a dependency failed"
        case .assert: "an assertion failed"
        case .timeout: "the job timed out"
        case .unsupported: "not supported by this system"
        }
    }
}

extension UnitProperties {
    /// Why it failed, with the exit status or signal if one is the reason; nil if systemd's word is the best one.
    var reason: String? {
        switch (result, exit) {
        case ("exit-code", .status(let status)):
            "exit status \(status)" + (Self.namesOfStatuses[status].map { "/\($0)" } ?? "")
        case ("signal", .signal(let number)): "ended by \(Self.signal(number))"
        case ("core-dump", .signal(let number)): "ended by \(Self.signal(number)), core dumped"
        default: result.flatMap { Self.reasons[$0] }
        }
    }

    /// The results of all types of units (org.freedesktop.systemd1(5)).
    private static let reasons = [
        "timeout": "timed out", "watchdog": "watchdog timed out", "oom-kill": "out of memory",
        "start-limit-hit": "started too often", "trigger-limit-hit": "triggered too often",
        "service-start-limit-hit": "its service was started too often",
        "unit-start-limit-hit": "its unit was started too often",
        "mount-start-limit-hit": "its mount was started too often",
        "resources": "a system operation failed (resources)",
        "protocol": "did not start as its Type= requires (protocol)",
    ]

    /// The exit statuses of systemd itself, for a process that it could not set up (systemd.exec(5)).
    private static let namesOfStatuses = [
        200: "CHDIR", 201: "NICE", 202: "FDS", 203: "EXEC", 204: "MEMORY", 205: "LIMITS", 206: "OOM_ADJUST",
        207: "SIGNAL_MASK", 208: "STDIN", 209: "STDOUT", 210: "CHROOT", 214: "SETSCHEDULER", 216: "GROUP", 217: "USER",
        218: "CAPABILITIES", 219: "CGROUP", 224: "PAM", 225: "NETWORK", 226: "NAMESPACE", 227: "NO_NEW_PRIVILEGES",
        228: "SECCOMP", 231: "APPARMOR_PROFILE", 233: "RUNTIME_DIRECTORY", 235: "CHOWN", 237: "KEYRING",
        238: "STATE_DIRECTORY", 239: "CACHE_DIRECTORY", 240: "LOGS_DIRECTORY", 241: "CONFIGURATION_DIRECTORY",
        242: "NUMA_POLICY", 243: "CREDENTIALS",
    ]

    private static func signal(_ number: Int) -> String {
        "signal \(number), \(String(cString: strsignal(Int32(clamping: number))))"
    }

    /// Whether timers start it.
    var hasTimers: Bool { triggeredBy.contains { $0.hasSuffix(".timer") } }

    /// Whether it runs, which it does while it reloads, and from systemd 257 on, while it is refreshed.
    var isActive: Bool { ["active", "reloading", "refreshing"].contains(activeState) }

    /// Whether it is a oneshot that is down, and nothing is known of a run or of a refused start.
    var isWithoutRun: Bool {
        runsToItsEnd && loadState == "loaded" && activeState == "inactive" && startedAt == nil && startFailure == nil
            && failedCondition == nil
    }

    /// Whether it is a oneshot that runs again and again, such as a backup.
    var runsToItsEnd: Bool { serviceType == "oneshot" && !remainsAfterExit }

    /// Whether a oneshot is running.
    ///
    /// To systemd, it is starting during its run, and stopping during what comes after that.
    var isRunningToItsEnd: Bool {
        guard serviceType == "oneshot" else { return false }
        return switch activeState {
        case "activating": !subState.hasPrefix("auto-restart")
        case "deactivating": !remainsAfterExit
        default: false
        }
    }

    /// Whether it has ended, and systemd will start it again.
    ///
    /// From systemd 254 on, it then passes through `auto-restart-queued`, too.
    var isRestarted: Bool { subState == "auto-restart" }
}
