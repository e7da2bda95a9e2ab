// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import LogLimiting
import Logging
import NotificationStreams
import SourceKinds
import StatusConfiguration
import StatusInterface
import StatusModel
import StatusMonitor
import StatusSources

/// The servers that are followed, and the sources that run for them: makes the monitor follow a configuration.
@EventLoop
final class ServerRegistry {
    let monitor: StatusMonitor
    let factory: SourceFactory
    let logger: Logger
    /// Clients can have the daemon reload, and try again, as often as they like.
    private let startWarnings: LogLimiter
    /// Clients can have notify sockets opened as often as they like.
    let socketFailures: LogLimiter
    private(set) var configuration = Configuration()
    /// Who may change things.
    private(set) var access = AccessPolicy()
    var sources: [ServerName: any Source] = [:]
    /// The closed sources of servers that cannot be followed now: what they know counts when that is mended.
    var closedSources: [ServerName: any Source] = [:]
    /// Why sources could not be started, which a reload tries again.
    private var startFailures: [ServerName: String] = [:]
    /// The sources whose statuses servers show that cannot be followed now (nil: of none that counts); when that is mended, they may
    /// show them again.
    private var shownSources: [ServerName: AnySourceSettings?] = [:]
    /// Servers that nobody configured, but that somebody posted to.
    var guests: Set<ServerName> = []
    /// The source of a server that nobody configured.
    nonisolated static let guestSource = AnySourceSettings(PushSettings())
    private var hasSelected = false
    /// The sources of removed servers, as long as something of them runs.
    private var departed: [ServerName: Departed] = [:]

    private struct Departed {
        weak var source: (any Source)?
    }

    init(monitor: StatusMonitor, factory: SourceFactory, logger: Logger) {
        self.monitor = monitor
        self.factory = factory
        self.logger = logger
        startWarnings = LogLimiter(logger, .warning)
        socketFailures = LogLimiter(logger, .warning)
    }

    // MARK: Configuration

    /// Follows a new configuration.
    ///
    /// Servers whose configuration is the same are not touched, unless somebody else may send to their notify sockets, or these are gone.
    func apply(_ read: ReadConfiguration) -> ReloadReply {
        let new = read.configuration
        access = read.accounts.access
        factory.prepare(new.limits.checks, read.accounts)
        let (old, failures) = (configuration.servers, startFailures)
        // A selection that somebody else made since gives way to what the administrator has just written.
        let isOtherSelected = new.select != configuration.select
        if isOtherSelected { hasSelected = false }
        configuration = new
        let plan = ReloadPlan(from: old, guests: guests, to: new) { startFailures[$0] != nil || needsNewSocket($0) }
        var reply = plan.reply
        reply.changed += plan.inOrder.compactMap { carryOut($0.step, for: $0.name) ? $0.name.rawValue : nil }
        reply.changed.sort()
        reply.failed = read.errors.map(Failure.init)
        for name in guests where sources[name] == nil || needsNewSocket(name) { openNotifySocket(ofGuest: name) }
        for (name, reason) in failures where startFailures[name] != reason {
            startWarnings.forget(Self.subject(name, reason))
        }
        reply.warnings = startFailures.sorted { $0.key < $1.key }.compactMap { name, reason in
            new.servers[name].map { server in
                Failure(
                    file: server.origin.file, line: server.origin.line, server: name.rawValue,
                    reason: "cannot be followed: \(reason)")
            }
        }
        departed = departed.filter { $0.value.source != nil }
        selectFirst()
        if isOtherSelected, let warning = selectionWarning { reply.warnings?.append(warning) }
        return reply
    }

    /// What a new configuration would change.
    func plan(_ read: ReadConfiguration) -> ReloadReply {
        var reply = ReloadPlan(from: configuration.servers, guests: guests, to: read.configuration).reply
        reply.failed = read.errors.map(Failure.init)
        return reply
    }

    /// Carries out a step of a plan; returns whether something changed that the plan did not foresee.
    private func carryOut(_ step: ReloadPlan.Step, for name: ServerName) -> Bool {
        let server = configuration.servers[name]
        switch step {
        case .remove:
            guests.remove(name)
            remove(name)
        case .add: if let server { add(name, server) }
        case .change(let source):
            guests.remove(name)
            if let server { change(name, from: source, to: server) }
        case .restart:
            guard let server else { break }
            let failure = startFailures[name]
            change(name, from: server.source, to: server)
            // What could not be started and still cannot is no change.
            return startFailures[name] != failure
        }
        return false
    }

    /// Why what is configured is not selected, if it is not; that nobody can post to it is said where the configuration is read.
    private var selectionWarning: Failure? {
        guard !hasSelected, configuration.acceptsAny, let name = configuration.select,
            let origin = configuration.selectOrigin
        else { return nil }
        return Failure(
            file: origin.file, line: origin.line, server: nil,
            reason:
                "“select: \(name)” takes effect with the first post of that server, which does not exist yet"
        )
    }

    private func needsNewSocket(_ name: ServerName) -> Bool {
        guard let source = sources[name] as? NotifySource else { return false }
        return !factory.isCurrent(source, for: configuration.servers[name]?.source)
    }

    /// Selects as configured, once there is such a server: where whoever posts is accepted, it may come later.
    func selectFirst() {
        guard !hasSelected, let name = configuration.select else { return }
        hasSelected = (try? monitor.select(name)) != nil
    }

    /// A user has selected: the configuration's choice counts no more.
    func didSelect() { hasSelected = true }

    private func add(_ name: ServerName, _ server: ServerConfiguration) {
        // A load of the one before it may still be ending.
        let failure = start(server, of: name, predecessor: departed.removeValue(forKey: name)?.source)
        monitor.add(server.definition(name: name, failure: failure))
    }

    private func change(_ name: ServerName, from source: AnySourceSettings?, to server: ServerConfiguration) {
        let state = try? monitor.state(of: name)
        // While the first load of a source runs, nothing of it is shown.
        let isShown = state?.phase != .loading || state?.status != nil
        let shownSource = shownSources.removeValue(forKey: name) ?? (isShown ? source : nil)
        let isOther = shownSource?.subject != server.source?.subject
        let failure = start(
            server, of: name, predecessor: removeSource(of: name),
            shown: isOther ? nil : state?.status?.level)
        if failure != nil { shownSources[name] = .some(shownSource) }
        try? monitor.redefine(
            server.definition(name: name, failure: failure), isOfNewSource: isOther && failure == nil)
    }

    func remove(_ name: ServerName) {
        let source = removeSource(of: name)
        source?.close()
        // What only listens is gone when it is closed.
        departed[name] = (source as? CheckSource).map { Departed(source: $0) }
        startFailures[name] = nil
        shownSources.removeValue(forKey: name)
        // When it comes back, the configuration's choice is selected again.
        if name == configuration.select, (try? monitor.selectedState().name) == name { hasSelected = false }
        try? monitor.remove(name)
    }

    func removeSource(of name: ServerName) -> (any Source)? {
        sources.removeValue(forKey: name) ?? closedSources.removeValue(forKey: name)
    }

    /// Starts what a server needs, in the place of what ran before; returns why it cannot be followed.
    private func start(
        _ server: ServerConfiguration, of name: ServerName, predecessor: (any Source)? = nil, shown: Level? = nil
    ) -> String? {
        startFailures[name] = nil
        if let failure = server.failure {
            predecessor?.close()
            closedSources[name] = predecessor
            return failure
        }
        do throws(SourceProblem) {
            sources[name] = try factory.start(server, of: name, predecessor: predecessor, shown: shown)
            return nil
        } catch {
            startFailures[name] = error.description
            closedSources[name] = predecessor
            startWarnings.log(
                "cannot follow \(name): \(error)", about: Self.subject(name, error.description),
                metadata: ["server": "\(name)"])
            return error.description
        }
    }

    /// What a warning is about: each reason counts by itself.
    private static func subject(_ name: ServerName, _ reason: String) -> String { "\(name): \(reason)" }

    /// Why a server cannot be followed; nil where it can.
    func failure(of name: ServerName) -> String? { configuration.servers[name]?.failure ?? startFailures[name] }

    /// Closes all sources.
    func close() {
        for source in sources.values { source.close() }
        sources = [:]
    }
}

extension ServerConfiguration {
    fileprivate func definition(name: ServerName, failure: String?) -> ServerDefinition {
        ServerDefinition(
            name: name, description: description, source: source?.key ?? "none",
            placeholder: placeholder ?? ServerDefinition.defaultPlaceholder,
            isRefreshable: isRefreshable && failure == nil, takesPosts: !isRefreshable && failure == nil,
            timeToLive: lifetime, failure: failure)
    }
}

extension Failure {
    init(_ problem: Problem) {
        self.init(
            file: problem.origin.file, line: problem.origin.line, server: problem.server?.rawValue,
            reason: problem.reason)
    }
}
