// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Logging
import SourceKinds
import StatusConfiguration
import StatusInterface
import StatusModel
import StatusMonitor
import StatusSources
import StatusStore

/// The followed servers; applies a configuration to the monitor and the sources.
@EventLoop
final class ServerRegistry {
    let monitor: StatusMonitor
    let logger: Logger
    let sources: ServerSources
    var servers: FollowedServers
    /// The users and groups that may call methods that change something.
    private(set) var access = AccessPolicy()
    /// The user who may report servers of other hosts; nil if none are followed, or there is no such user.
    private(set) var reporter: UInt32?

    var configuration: Configuration { servers.configuration }

    /// Creates a registry without servers.
    ///
    /// - Parameter restored: the saved data of an earlier run: its sources, and the server that its configuration
    ///   selected. The monitor has restored its servers.
    init(monitor: StatusMonitor, factory: SourceFactory, logger: Logger, restored: StoreContents = StoreContents()) {
        self.monitor = monitor
        self.logger = logger
        sources = ServerSources(monitor: monitor, factory: factory, logger: logger)
        servers = FollowedServers(restored: restored)
        factory.environment.refresh = { [weak self] in _ = try? await self?.refresh($0) }
    }

    // MARK: Configuration

    /// The steps to a new configuration, which ``apply(_:)`` carries out.
    func plan(_ read: ReadConfiguration) -> ReloadPlan {
        ReloadPlan(from: servers, selected: try? monitor.selectedState().name, to: read)
    }

    /// Carries out a plan; returns its reply, with failures that only show when sources are started.
    ///
    /// Must be called in the turn in which the plan was made. A server without a step is started again if its source
    /// could not be started before, or if its notify socket is gone or reaches the wrong users.
    @discardableResult
    func apply(_ plan: ReloadPlan) -> MonitorInterface.ReloadReply {
        var reply = plan.reply
        let wereFailed = servers.leftovers?.file != nil
        servers = plan.servers
        (access, reporter) = (plan.read.accounts.access, plan.read.accounts.reporter)
        reserveCapacity(for: configuration.limits.servers)
        sources.prepare(configuration.limits.checks, plan.read.accounts)
        sources.checkSocketsLater(of: servers.unconfigured.filter { plan.steps[$0] == nil })
        let inherited = plan.renamed.compactMap { former, present in
            (try? monitor.state(of: former)).flatMap { state in state.isCurrent ? (present, state.status) : nil }
        }
        // They are settled once, with all changes.
        monitor.suspendGroups()
        for (name, step) in plan.inOrder { carryOut(step, for: name, wasFailed: wereFailed) }
        for case (let name, let status?) in inherited where configuration.servers[name]?.takesPosts == true {
            _ = try? monitor.post(status.text, level: status.level, to: name)
        }
        let retried = configuration.servers.filter { plan.steps[$0.key] == nil && sources.mustRetry($0.key, $0.value) }
        for (name, server) in retried.sorted(by: { $0.key < $1.key }) where sources.retry(name, server) {
            reply.changed.append(name.rawValue)
        }
        reply.changed.sort()
        sources.openPendingSockets { [weak self] in self?.servers.unconfigured.contains($0) ?? false }
        for (name, reason) in sources.startFailures(of: configuration.servers.keys) {
            guard let origin = configuration.servers[name]?.origin else { continue }
            reply.warnings?.append(
                MonitorInterface.Failure(
                    file: origin.file, line: origin.line, server: name.rawValue,
                    reason: "cannot be followed: \(reason)"))
        }
        if let mqtt = configuration.mqtt, !mqtt.follow.isEmpty {
            monitor.setOwnHost(mqtt.hostName)
        } else {
            reply.removed += monitor.removeHosts().map(\.rawValue)
            reply.removed.sort()
        }
        monitor.setGroups(configuration.groups)
        if let successor = plan.successor { _ = try? monitor.select(successor) }
        selectFirst()
        if servers.followsWorst {
            reply.deselected = nil
            reply.selected = monitor.selectWorst().state.flatMap { $0.name == plan.selected ? nil : $0.name.rawValue }
        }
        return reply
    }

    /// Makes room for many servers: to grow a table of 100,000 would hold up a turn for some 50 ms.
    private func reserveCapacity(for limit: Int) {
        guard limit > Limits().servers else { return }
        // Hash tables have powers of two as sizes; for more servers, they would take twice the memory.
        let count = min(limit, 196_608)
        monitor.reserveCapacity(count)
        sources.reserveCapacity(count)
        if servers.unconfigured.capacity < count { servers.unconfigured.reserveCapacity(count) }
    }

    /// - Parameter wasFailed: whether servers of an earlier run were failed because a file could not be used.
    private func carryOut(_ step: ReloadPlan.Step, for name: ServerName, wasFailed: Bool) {
        switch (step, configuration.servers[name]) {
        case (.remove, _): sources.remove(name)
        case (.add, let server?): sources.add(name, server)
        case (.adopt(let memory), let server?): sources.adopt(name, server, memory)
        case (.change(let settings), let server?):
            sources.change(name, from: settings, to: server)
            // The saved data of its source has changed.
            monitor.keepUnsaved([name])
        case (.keep(let memory), _):
            sources.openSocketLater(of: name, memory)
            guard wasFailed else { break }
            try? monitor.redefine(ServerDefinition(name: name, source: FollowedServers.unconfiguredSource.key))
        case (.wait, _):
            if let reason = servers.missingReason(of: name) { try? monitor.fail(name, because: reason) }
        case (.add, nil), (.adopt, nil), (.change, nil): break
        }
    }

    /// Selects the configured server once it exists; a post may add it later.
    func selectFirst() {
        guard !servers.hasSelected, let name = configuration.select else { return }
        _ = try? select(name)
    }

    /// Selects a server, whichever is the worst one, or none; a client's selection overrides the configuration.
    @discardableResult
    func select(_ name: ServerName?, by caller: Caller? = nil) throws(LedgerError) -> SelectionChange {
        let isWorst = name == .worst && (try? monitor.state(of: .worst)) == nil
        let change = isWorst ? monitor.selectWorst(by: caller) : try monitor.select(name, by: caller)
        servers.hasSelected = true
        servers.followsWorst = isWorst
        // Otherwise a choice that moves nothing would not be saved.
        if let state = change.state { monitor.keepUnsaved([state.name]) }
        return change
    }

    /// Why a server cannot be followed; nil if it can.
    func failure(of name: ServerName) -> String? {
        configuration.servers[name]?.failure ?? sources.startFailure(of: name) ?? servers.missingReason(of: name)
    }

    /// The last run of a server's check; nil if there was none.
    func checkRun(of name: ServerName) -> CheckRun? { sources[name]?.checkRun }

    /// The servers that were renamed, as (former, present), unless a server with the former name still exists.
    var renamedServers: [(ServerName, ServerName)] {
        configuration.renamedServers.sorted { $0.key < $1.key }.filter { (try? monitor.state(of: $0.key)) == nil }
    }

    // MARK: The end

    /// The data of a server's source to keep over a restart.
    func memory(of name: ServerName) -> SourceMemory {
        if let memory = servers.leftovers?.sources[name] { return memory }
        var memory = SourceMemory()
        memory.isGuest = servers.unconfigured.contains(name)
        sources.note(
            name, memory.isGuest ? FollowedServers.unconfiguredSource : configuration.servers[name]?.source,
            in: &memory)
        return memory
    }

    /// Closes all sources; their data can still be saved (``memory(of:)``).
    func close() { sources.close() }
}
