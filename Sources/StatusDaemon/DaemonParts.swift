// SPDX-License-Identifier: Apache-2.0

import CLinux
import EventLoopIO
import Glibc
import Logging
import StatusAlerts
import StatusConfiguration
import StatusInterface
import StatusMonitor
import StatusStore
import SystemdClient
import Varlink

@EventLoop
final class DaemonParts {
    private let monitor: StatusMonitor
    private let expiry: ExpiryTimer
    private let runner: SourceRunner
    private let factory: SourceFactory
    private let registry: ServerRegistry
    private let reporter: ServiceManagerReporter
    private let recorder: ChangeRecorder
    private let journal: JournalWriter
    private let alerts: AlertDispatcher
    /// Saves the state; nil if no state is kept.
    private let keeper: StateKeeper?
    private let watcher: SelectionWatcher
    private let reloader: Reloader
    private let service: VarlinkService
    private let sockets: ControlSockets
    private let logger: Logger

    static func make(
        _ read: ReadConfiguration, reading: ReadingThread, directories: DaemonDirectories, state: OpenedState,
        logger: Logger
    ) throws -> DaemonParts {
        let inherited = ListeningSockets.inherited.takeControl()
        do {
            return try DaemonParts(
                read, inherited: inherited, reading: reading, directories: directories, state: state,
                logger: logger)
        } catch {
            // They are needed to answer waiting clients (``FailedStart``).
            ListeningSockets.inherited.giveBackControl(inherited)
            throw error
        }
    }

    private init(
        _ read: ReadConfiguration, inherited: [OwnedDescriptor], reading: ReadingThread,
        directories: DaemonDirectories, state: OpenedState, logger: Logger
    ) throws {
        self.logger = logger
        sockets = try ControlSockets(directories, inherited: inherited)
        monitor = StatusMonitor(restoring: state.memory, notesUnsaved: state.store != nil)
        reporter = try ServiceManagerReporter(verification: reading.verification)
        expiry = try ExpiryTimer(monitor: monitor)
        runner = SourceRunner()
        factory = SourceFactory(monitor: monitor, runner: runner, directories: directories, logger: logger)
        registry = ServerRegistry(
            monitor: monitor, factory: factory, logger: logger, restored: state.opening.contents)
        journal = try JournalWriter(logger: logger)
        let contents = state.opening.contents
        let shift = contents.memory?.shift(to: .now()) ?? .zero
        alerts = try AlertDispatcher(
            registry: registry, told: contents.told.mapValues { $0.shifted(by: shift) },
            executor: directories.alerts, logger: logger)
        var sinks: [any ChangeSink] = [journal]
        if let store = state.store {
            let keeper = StateKeeper(store, of: state, registry: registry, alerts: alerts, logger: logger)
            sinks.append(keeper)
            self.keeper = keeper
        } else {
            keeper = nil
        }
        recorder = try ChangeRecorder(
            monitor: monitor, sinks: sinks,
            gradeSinks: [WorstFollower(registry: registry), alerts, try SilenceKeeper(monitor: monitor)])
        keeper?.readChanges = { [weak recorder] in recorder?.read() }
        reloader = Reloader(reading: reading, registry: registry, logger: logger)
        watcher = SelectionWatcher(monitor: monitor, reporters: [reporter], isolatedTo: EventLoop.shared)
        let control = try ControlInterface(
            monitor: monitor, watcher: watcher, registry: registry, reloader: reloader, reporter: reporter,
            state: KeptState(keeper, state), dispatcher: alerts)
        service = VarlinkService(
            info: VarlinkService.Info(
                vendor: "statusd", product: "statusd", version: MonitorVersion.current, url: "https://statusd.org"),
            interfaces: [control, try MetricsInterface(monitor: monitor)],
            unlisted: [try ProbeInterface(monitor: monitor)], listeners: sockets.listeners,
            limits: VarlinkService.Limits(read.configuration.limits), logger: logger)
        service.refusal = { MonitorError.limitReached(limit: "\($0)", value: $1).reply }
        keeper?.apply(read.configuration.history)
        let plan = registry.plan(read)
        registry.apply(plan)
        if let refusal = plan.refusal { logger.log(refusal) }
        alerts.apply()
        if let problem = state.problem {
            logger.log(.stateNotSaved, level: .warning, "no state is kept: \(problem); a restart forgets all statuses")
        }
        let (service, reporter, keeper, alerts) = (service, reporter, keeper, alerts)
        reporter.configuration = .taken(errors: read.errorCount)
        reloader.onReload = { read in
            guard let read else { return reporter.configuration = .refused }
            service.limits = VarlinkService.Limits(read.configuration.limits)
            keeper?.apply(read.configuration.history)
            alerts.apply()
            control.settingsMayDiffer()
            reporter.configuration = .taken(errors: read.errorCount)
        }
    }

    /// Runs until SIGTERM or SIGINT.
    func run() async throws {
        var tasks: [@EventLoop @Sendable () async throws -> Void] = [
            { await self.runner.run { self.announceStart() } },
            { try await self.service.run() },
            { await self.watcher.run() },
            { await self.reloader.run() },
            { try await SignalHandling.run(reload: self.reloader.request, terminate: self.announceEnd) },
        ]
        if let keeper { tasks.append { await keeper.run() } }
        if let interval = ServiceManager.watchdogInterval {
            let (probe, logger) = (WatchdogProbe(through: service), logger)
            tasks.append { await ServiceManager.keepAlive(within: interval, logger: logger) { await probe.travel() } }
        }
        try await Self.run(tasks)
        recorder.close()
        journal.close()
        registry.close()
        await factory.close()
        await alerts.close(within: .seconds(1))
        await keeper?.close()
        LogLimiter.logAllRepetitions()
        sockets.remove()
        // Otherwise the service manager would keep showing the last status.
        ServiceManager.notify(.status(""))
    }

    /// Runs tasks until one of them ends, and then ends the others, one after another.
    ///
    /// The last one ends first, so callers that wait for a load end before the loads.
    private static func run(_ tasks: [@EventLoop @Sendable () async throws -> Void]) async throws {
        let (running, end) = AsyncStream.makeStream(of: Never.self)
        // Unstructured, because a group would cancel all of them at once.
        let started = tasks.map { task in
            Task {
                defer { end.finish() }
                try await task()
            }
        }
        for await _ in running {}
        var result = Result<Void, any Error>.success(())
        for task in started.reversed() {
            task.cancel()
            if case .failure(let error) = await task.result { result = .failure(error) }
        }
        try result.get()
    }

    private func announceStart() {
        reporter.show(Report(server: try? monitor.selectedState(), isSwitch: true))
        ServiceManager.notify(.ready)
        // What was needed to read the state of many servers lies between what stays.
        malloc_trim(0)
        let count = monitor.serverCount
        logger.log(
            .started, level: .notice,
            "statusd \(MonitorVersion.current) follows \(count) \(count == 1 ? "server" : "servers")")
    }

    private func announceEnd() {
        ServiceManager.notify(.stopping)
        reporter.mute(after: "stopping")
        logger.log(.stopping, level: .notice, "statusd is stopping")
    }
}

extension VarlinkService.Limits {
    init(_ configuration: StatusConfiguration.Limits) {
        self.init()
        maximumMessageBytes = configuration.message
        maximumUnsentBytes = configuration.unsent
        maximumConnectionsPerUser = configuration.connections
    }
}
