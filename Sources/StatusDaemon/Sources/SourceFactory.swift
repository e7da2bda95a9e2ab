// SPDX-License-Identifier: Apache-2.0

import Logging
import StatusConfiguration
import StatusInterface
import StatusModel
import StatusMonitor
import StatusSources
import Systemd

/// Makes what runs for a server out of what its configuration says.
@EventLoop
final class SourceFactory {
    private let monitor: StatusMonitor
    private let directories: DaemonDirectories
    private let environment: [String: String]
    private let logger: Logger
    private let runner: SourceRunner
    private let units: UnitBus
    private var client: HTTPClient?
    private let budget = CheckBudget(CheckBudget.Limits(LimitsConfiguration()))
    /// Who may send notifications wherever nobody else is named.
    private var access = AccessPolicy()

    init(
        monitor: StatusMonitor, runner: SourceRunner, directories: DaemonDirectories, environment: [String: String],
        logger: Logger
    ) {
        self.monitor = monitor
        self.runner = runner
        self.directories = directories
        self.environment = CheckEnvironment.inherited(from: environment)
        self.logger = logger
        units = UnitBus(logger: logger)
    }

    /// Takes over what a new configuration says of all sources.
    func prepare(_ limits: LimitsConfiguration) {
        access = .control
        budget.limits = CheckBudget.Limits(limits)
    }

    /// Makes and starts a server's source; nil where nothing has to run for it.
    func start(_ server: ServerConfiguration, of name: ServerName) throws(SourceProblem) -> (any Source)? {
        switch server.source {
        case .push, .none: return nil
        case .notify(let users): return try openNotifySocket(of: name, for: users)
        case .unit(let unit):
            return UnitSource(
                server: name, unit: unit, timeout: server.schedule.timeout, bus: units, monitor: monitor)
        case .exec(let command):
            let check = ExecCheck(command: command, timeout: server.schedule.timeout, environment: environment)
            return start(check, server.schedule, of: name)
        case .tcp(let host, let port):
            return start(TCPCheck(host: host, port: port, timeout: server.schedule.timeout), server.schedule, of: name)
        case .http(let http):
            let check = HTTPCheck(
                HTTPCheck.Expectation(http), timeout: server.schedule.timeout, client: try httpClient())
            return start(check, server.schedule, of: name)
        }
    }

    /// Opens the notify socket of a server; `users` are those who may send beside the usual ones.
    func openNotifySocket(of name: ServerName, for users: [String] = []) throws(SourceProblem) -> NotifySource {
        var access = access
        for user in users where !access.allow(user: user) {
            throw SourceProblem("there is no user “\(VisibleText.escape(user))”")
        }
        do throws(SystemdError) {
            return try NotifySource(
                server: name, at: directories.notifySocket(of: name.rawValue), access: access, monitor: monitor,
                logger: logger)
        } catch {
            throw SourceProblem(error.message)
        }
    }

    /// The client of all http servers, which there is from the first of them on: it is a good part of the daemon's memory.
    private func httpClient() throws(SourceProblem) -> HTTPClient {
        if let client { return client }
        do throws(HTTPUnavailable) {
            let client = try HTTPClient(userAgent: "statusd/\(MonitorVersion.current)")
            self.client = client
            return client
        } catch {
            throw SourceProblem(error.description)
        }
    }

    private func start(_ check: some Check, _ schedule: ScheduleConfiguration, of name: ServerName) -> any Source {
        let source = CheckSource(
            server: name, check: check, schedule: CheckSchedule(schedule), budget: budget, monitor: monitor)
        runner.start(source)
        return source
    }
}

/// Why a source cannot be started.
struct SourceProblem: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

extension CheckSchedule {
    fileprivate init(_ configuration: ScheduleConfiguration) {
        self.init(
            interval: configuration.interval, failures: configuration.failures, successes: configuration.successes)
    }
}

extension HTTPCheck.Expectation {
    fileprivate init(_ configuration: HTTPConfiguration) {
        self.init(url: configuration.url)
        method = configuration.method
        headers = configuration.headers
        certificateAuthority = configuration.certificateAuthority
        redirects = configuration.redirects
        statusCodes = configuration.statusCodes
        contains = configuration.contains
    }
}

extension CheckBudget.Limits {
    fileprivate init(_ configuration: LimitsConfiguration) {
        self.init(checks: configuration.checks, processes: configuration.processes)
    }
}

extension AccessPolicy {
    /// Root, the daemon's own user and the members of the group `statusd`, as they are now: those who may change things.
    static var control: AccessPolicy {
        var policy = AccessPolicy()
        policy.allow(group: "statusd")
        return policy
    }
}
