// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Logging
import SourceKinds
import StatusConfiguration
import StatusInterface
import StatusModel
import StatusMonitor
import StatusSources

/// Makes a server's source from its configuration.
@EventLoop
final class SourceFactory {
    /// The subject of log messages.
    private static let notifySockets = "notify sockets"

    private let directories: DaemonDirectories
    /// Limited, because clients can make the daemon reload at any rate.
    private let permitFailures: LogLimiter
    let environment: SourceEnvironment
    var sockets: NotifySockets { environment.shared(NotifySockets.self) }
    /// The processes that can reach the notify sockets; nil if not set yet.
    private var permitted: AccessPolicy?

    init(
        monitor: StatusMonitor, runner: SourceRunner, directories: DaemonDirectories, logger: Logger
    ) {
        self.directories = directories
        permitFailures = LogLimiter(logger, .warning)
        let delays = LogLimiter(logger, .warning)
        let budget = CheckBudget(CheckLimits()) { server, delay, key in
            delays.log(
                """
                the check of \(server) waited \(TimeSpan.text(delay)) for a check slot, longer than its interval; \
                raise “limits: { \(key): … }” or lower “timeout”
                """, about: "delays", metadata: ["server": "\(server)"])
        }
        environment = SourceEnvironment(
            monitor: monitor, budget: budget,
            notifyDirectory: directories.notify, executor: directories.executor,
            userAgent: "statusd/\(MonitorVersion.current)", logger: logger
        ) { runner.start($0) }
    }

    /// How long killed processes may take to end; on a busy host, that is more than a moment.
    private static let endTime = Duration.seconds(1)

    /// Ends everything that the sources shared; to be called after they are closed.
    func close() async { await environment.close(within: Self.endTime) }

    /// Applies the limits and accounts of a new configuration.
    func prepare(_ limits: CheckLimits, _ accounts: Accounts) {
        environment.accounts = accounts
        permitSenders()
        environment.budget.limits = limits.fitting(descriptors: OwnedDescriptor.limit)
    }

    private func permitSenders() {
        let senders = environment.accounts.senders
        if directories.restoreNotify() { permitted = nil }
        guard senders != permitted else { return }
        do throws(IOError) {
            try directories.permit(senders)
            permitted = senders
            permitFailures.forget(Self.notifySockets)
        } catch {
            permitFailures.log(
                "\(error.message); users named under “notify” cannot send to notify sockets", about: Self.notifySockets)
        }
    }

    /// Makes and starts a server's source; returns nil if nothing has to run.
    ///
    /// - Parameters:
    ///   - predecessor: the source that it replaces, which is closed unless the new source takes it over.
    ///   - shown: the shown level, if it came from the same subject.
    ///   - restored: the saved data of an earlier run for the same subject.
    func start(
        _ server: ServerConfiguration, of name: ServerName, predecessor: (any Source)?, shown: Level?,
        restored: RestoredSource? = nil
    ) throws(SourceProblem) -> (any Source)? {
        let settings = server.source?.base as? any SourceMaking
        if let predecessor, settings.map({ type(of: $0).takesOver(predecessor) }) != true { predecessor.close() }
        return try settings?.makeSource(
            SourceOrder(
                server: name, schedule: server.schedule, runtime: server.runtime,
                refreshedMembers: server.refreshedMembers, predecessor: predecessor, shown: shown, restored: restored,
                environment: environment))
    }
}

extension CheckLimits {
    /// Lowers the limit of concurrent checks if they would leave too few descriptors for anything else.
    ///
    /// An eighth of the descriptors is for checks, each of which takes up to eight. Three eighths are for clients, a
    /// quarter for notify sockets, and a quarter for the daemon itself and plugins that do not end.
    fileprivate func fitting(descriptors: Int) -> CheckLimits {
        var limits = self
        limits.checks = min(checks, max(1, descriptors / 64))
        return limits
    }
}
