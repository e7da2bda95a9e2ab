// SPDX-License-Identifier: Apache-2.0

import Logging
import StatusConfiguration
import StatusInterface
import StatusModel
import StatusMonitor
import StatusSources
import StatusWorkers
import Systemd

/// Makes what runs for a server out of what its configuration says.
@EventLoop
final class SourceFactory {
    /// What the log is about.
    private static let notifySockets = "notify sockets"

    private let monitor: StatusMonitor
    private let directories: DaemonDirectories
    private let logger: Logger
    /// Clients can have the daemon reload as often as they like.
    private let permitFailures: LogLimiter
    private let runner: SourceRunner
    private let units: UnitBus
    private let plugins: PluginPool
    private let requests: HTTPPool
    /// How many notify sockets there may be: the other descriptors are for clients, checks and what the daemon itself needs.
    private let notifySocketLimit = OwnedDescriptor.limit / 4
    private let budget: CheckBudget
    private var accounts = Accounts()
    /// Those who can reach the notify sockets; nil if that has not been set yet.
    private var permitted: AccessPolicy?

    init(
        monitor: StatusMonitor, runner: SourceRunner, directories: DaemonDirectories, logger: Logger
    ) {
        self.monitor = monitor
        self.runner = runner
        self.directories = directories
        self.logger = logger
        permitFailures = LogLimiter(logger, .warning)
        let delays = LogLimiter(logger, .warning)
        budget = CheckBudget(CheckBudget.Limits(LimitsConfiguration())) { server, delay in
            delays.log(
                """
                the check of \(server) has waited \(TimeSpan.text(delay)) for others, longer than its interval; limits: says how many run side \
                by side, and timeout: how long each may take
                """, about: "delays", metadata: ["server": "\(server)"])
        }
        units = UnitBus(logger: logger)
        requests = HTTPPool(.ownProgram, logger: logger)
        plugins = PluginPool(directories.executor.map { .executor($0) } ?? .ownProgram)
    }

    /// How long processes that make requests or run plugins may take to end.
    private static let endTime = Duration.milliseconds(100)

    /// Ends what the sources have used, after their own end.
    func close() async {
        await requests.close(within: Self.endTime)
        await plugins.close(within: Self.endTime)
    }

    /// Takes over what a new configuration says of all sources.
    func prepare(_ limits: LimitsConfiguration, _ accounts: Accounts) {
        self.accounts = accounts
        permitSenders()
        budget.limits = CheckBudget.Limits(limits).fitting(descriptors: OwnedDescriptor.limit)
    }

    private func permitSenders() {
        if directories.restoreNotify() { permitted = nil }
        guard accounts.senders != permitted else { return }
        do throws(SystemdError) {
            try directories.permit(accounts.senders)
            permitted = accounts.senders
            permitFailures.forget(Self.notifySockets)
        } catch {
            permitFailures.log(
                "\(error.message); programs of other users cannot send to notify sockets", about: Self.notifySockets)
        }
    }

    /// Makes and starts a server's source; nil where nothing has to run for it.
    ///
    /// - Parameters:
    ///   - server: what is said of the server.
    ///   - name: its name.
    ///   - predecessor: the source whose place it takes, which is closed by this, unless it can go on as it is.
    ///   - shown: the level that is shown, where it came from the same kind of load.
    func start(
        _ server: ServerConfiguration, of name: ServerName, predecessor: (any Source)?, shown: Level?
    ) throws(SourceProblem) -> (any Source)? {
        func start(_ check: some Check) -> any Source {
            let source = CheckSource(
                server: name, check: check, schedule: CheckSchedule(server.schedule),
                predecessor: predecessor as? CheckSource, shown: shown, budget: budget, monitor: monitor)
            runner.start(source)
            return source
        }
        let timeout = server.schedule.timeout
        // A notify socket stays open, so that senders always find it; all else ends before its successor begins.
        let socket = if case .notify = server.source { predecessor as? NotifySource } else { NotifySource?.none }
        if socket == nil { predecessor?.close() }
        switch server.source {
        case .push, .none: return nil
        case .notify(let users): return try openNotifySocket(of: name, for: users, existing: socket)
        case .unit(let unit):
            let settings = UnitSource.Settings(
                unit: unit, timeout: timeout, runtime: server.runtime, schedule: CheckSchedule(server.schedule))
            return UnitSource(
                server: name, settings: settings, predecessor: predecessor as? UnitSource, shown: shown, bus: units,
                monitor: monitor)
        case .exec(let command):
            return start(ExecCheck(command: command, server: name, timeout: timeout, pool: plugins))
        case .tcp(let host, let port):
            return start(TCPCheck(host: host, port: port, timeout: timeout))
        case .http(let http):
            return start(HTTPCheck(HTTPRequest(http, timeout: timeout), of: name, pool: requests))
        }
    }

    /// The notify socket of a server: the one that it has, or else a new one; `users` are those who may send beside the usual ones.
    ///
    /// - Throws: ``SourceProblem`` if there is none any more.
    func openNotifySocket(
        of name: ServerName, for users: [String] = [], existing source: NotifySource? = nil
    ) throws(SourceProblem) -> NotifySource {
        do throws(SourceProblem) {
            let access = try senders(users)
            guard let source, source.isOpen else {
                return try makeNotifySource(of: name, for: access, predecessor: source)
            }
            do { try source.open(for: access) } catch { throw SourceProblem(error.message) }
            return source
        } catch {
            source?.close()
            throw error
        }
    }

    private func makeNotifySource(
        of name: ServerName, for access: AccessPolicy, predecessor: NotifySource?
    ) throws(SourceProblem) -> NotifySource {
        guard NotifySource.count + DatagramSocket.releasingCount < notifySocketLimit else {
            throw SourceProblem(
                "there are \(notifySocketLimit) notify sockets already, a quarter of the descriptors; raise LimitNOFILE= of the service"
            )
        }
        do throws(SystemdError) {
            return try NotifySource(
                server: name, in: directories.notify, access: access, predecessor: predecessor, monitor: monitor,
                logger: logger)
        } catch {
            throw SourceProblem(error.message)
        }
    }

    /// Whether a notify socket will do for the source of a server as the configuration has it now.
    func isCurrent(_ socket: NotifySource, for source: SourceConfiguration) -> Bool {
        let users = if case .notify(let users) = source { users } else { [String]() }
        guard let access = try? senders(users) else { return false }
        return socket.isReachable(for: access)
    }

    /// Who may send: those who may change things, and these users.
    private func senders(_ users: [String]) throws(SourceProblem) -> AccessPolicy {
        let numbers = try users.map { user throws(SourceProblem) in
            guard let number = accounts.user(user) else {
                throw SourceProblem("there is no user “\(VisibleText.escape(user))”; reload when there is one")
            }
            return number
        }
        return accounts.access.allowing(users: numbers)
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

extension HTTPRequest {
    fileprivate init(_ configuration: HTTPConfiguration, timeout: Duration) {
        self.init(url: configuration.url, userAgent: "statusd/\(MonitorVersion.current)", timeout: timeout)
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
        self.init(
            checks: configuration.checks, processes: configuration.processes, requests: configuration.requests)
    }

    /// Less, where so many would leave no descriptors for anything else.
    ///
    /// An eighth is for checks, of which each takes up to eight. A half is for clients, a quarter for notify sockets, and an eighth for the
    /// daemon itself and plugins that do not end.
    fileprivate func fitting(descriptors: Int) -> CheckBudget.Limits {
        let most = descriptors / 64
        return CheckBudget.Limits(
            checks: min(checks, most), processes: min(processes, most), requests: min(requests, most))
    }
}
