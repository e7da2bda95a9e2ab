// SPDX-License-Identifier: Apache-2.0

import Glibc
public import SourceKinds
import StatusModel
import StatusSupport
import StatusWorkers

/// `exec: [/path, argument]`: runs a plugin with the Nagios plugin interface.
///
/// The exit status is the level, and the first line up to `|` is the text
/// (<https://www.monitoring-plugins.org/doc/guidelines.html>). A worker process runs the plugin, and ends every process
/// that the plugin leaves behind.
struct ExecCheck: Check {
    let settings: ExecSettings
    let server: ServerName
    let timeout: Duration
    let pool: WorkerPool<PluginCall>

    var resource: CheckBudget.Resource { .process }

    var command: [String]? { settings.command }

    func run() async throws -> CheckResult {
        do {
            // The worker reports a timeout itself, unless it does not answer.
            let call = PluginCall(settings.command, timeout: timeout)
            let outcome = try await pool.run(call, of: server, within: timeout + PluginWorker.lateness)
            return try (outcome ?? PluginOutcome(.timedOut)).result(of: settings.command[0], timeout: timeout)
        } catch is WorkerLost {
            throw CheckFailure("cannot run \(settings.command[0]): its worker ended")
        } catch let error as StuckCheck {
            return CheckResult(.critical, "\(error)")
        }
    }
}

extension ExecSettings: CheckMaking {
    public func makeCheck(_ order: SourceOrder) -> any Check {
        ExecCheck(
            settings: self, server: order.server, timeout: order.schedule.timeout,
            pool: order.environment.shared(WorkerPool<PluginCall>.self))
    }
}

extension PluginCall: WorkerCall {
    typealias Answer = PluginOutcome

    static func workers(in environment: SourceEnvironment) -> WorkerStarter {
        .plugins(environment.executor.map { .executor($0) } ?? .ownProgram)
    }
}

extension WorkerStarter {
    /// Starts workers that run plugins; a worker that ends first ends its plugin and all processes of the plugin.
    static func plugins(_ place: WorkerPlace, purpose: String = "run plugins") -> WorkerStarter {
        WorkerStarter(place: place, role: .pluginWorker, purpose: purpose, endsAtOnce: false)
    }
}

extension PluginOutcome {
    /// Returns the result according to the Nagios plugin interface; throws if the plugin did not run.
    func result(of path: String, timeout: Duration) throws(CheckFailure) -> CheckResult {
        if output.isEmpty, let refusal {
            throw CheckFailure(
                "cannot run \(path): \(refusal); see “Plugins” in statusd(8)", output: written())
        }
        let level: Level
        var text = firstLine
        switch ending {
        case .exited(let code):
            level = Self.levels[code] ?? .unknown
            if Self.levels[code] == nil { text += " (exit status \(code))" }
        case .signaled(let number):
            let name = String(cString: strsignal(Int32(clamping: number)))
            (level, text) = (.unknown, text + " (ended by signal \(number), \(name))")
        // Nagios does this by default (service_check_timeout_state); tcp and http do the same.
        case .timedOut: (level, text) = (.critical, "timed out after \(TimeSpan.text(timeout))")
        case .notStarted(let reason): throw CheckFailure("cannot run \(path): \(reason)")
        }
        let written = written()
        return CheckResult(
            level, text, values: [MeasuredValue](performanceData: written.performanceData ?? ""), output: written)
    }

    private func written() -> PluginOutput {
        var (exitStatus, signal) = (Int?.none, Int?.none)
        if case .exited(let code) = ending { exitStatus = code }
        if case .signaled(let number) = ending { signal = number }
        return PluginOutput(output: output, errors: errors, exitStatus: exitStatus, signal: signal)
    }

    private static let levels: [Int: Level] = [0: .ok, 1: .warning, 2: .critical, 3: .unknown]

    /// What programs write that lack the rights of another user, as all do in the sandbox of plugins.
    ///
    /// sudo, pkexec, doas, su and ping (iputils) then end with the statuses of a warning or a critical plugin.
    private static let refusals = [
        "\"no new privileges\" flag is set", "effective uid is not 0", "have the setuid bit set", "must be setuid root",
        "not installed setuid", "su: Authentication failure", "su: must be run from a terminal", "missing cap_net_raw",
        "may not be used by non-root users", "Invalid password", "Failed to drop privileges", "must be root",
        "must be run as root",
    ]
    /// What the system says to any program that lacks rights.
    private static let systemRefusals = ["Operation not permitted", "Permission denied"]
    /// How the messages of these programs begin if they did not run the plugin for another reason.
    private static let refusers = ["sudo: ", "Sorry, user ", "doas: ", "Error executing command as another user: "]

    /// Why a program in between did not run the plugin as another user; nil if that is not known.
    ///
    /// It is asked only about a plugin that wrote nothing to its standard output, and so did not run: what a plugin
    /// writes may come from a log or from another host, and must not hide its level.
    private var refusal: String? {
        let lines = errors.unicodeScalars.split(separator: "\n").map { String($0) }
        // sudo may also warn that it cannot resolve the host, before its reason.
        let line =
            lines.first { line in Self.refusals.contains { line.contains($0) } }
            ?? lines.last { line in Self.refusers.contains { line.hasPrefix($0) } }
            ?? lines.first { line in Self.systemRefusals.contains { line.contains($0) } }
        return line.flatMap { StatusText(fitting: $0)?.rawValue }
    }

    /// The first line with text before `|`, where performance data begins.
    ///
    /// It is taken from standard error if standard output has none.
    private var firstLine: String {
        for stream in [output, errors] {
            // Split scalars: a character may combine a newline or a bar with other scalars.
            for line in stream.unicodeScalars.split(separator: "\n") {
                let visible = Substring(line.prefix { $0 != "|" })
                if let text = StatusText(fitting: String(visible)) { return text.rawValue }
            }
        }
        return "no output"
    }
}
