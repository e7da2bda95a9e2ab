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
import StatusStore

/// The followed servers and their sources; applies a configuration to the monitor.
@EventLoop
final class ServerRegistry {
    let monitor: StatusMonitor
    let factory: SourceFactory
    let logger: Logger
    /// Clients can make the daemon reload, and try again, as often as they like.
    private let startWarnings: LogLimiter
    /// Clients can make it open notify sockets as often as they like.
    let socketFailures: LogLimiter
    private(set) var configuration = Configuration()
    /// The processes that may change things.
    private(set) var access = AccessPolicy()
    var sources: [ServerName: any Source] = [:]
    /// The closed sources of servers that cannot be followed now; their knowledge counts when that is corrected.
    var closedSources: [ServerName: any Source] = [:]
    /// Why sources could not be started; a reload tries again.
    private var startFailures: [ServerName: String] = [:]
    /// The subjects of the statuses that servers still show although they cannot be followed now
    /// (`AnySourceSettings.identity`); nil: of none.
    ///
    /// When that is corrected, such a status may be shown again.
    var shownSubjects: [ServerName: Int64?] = [:]
    /// The servers that are not configured, but were added by posts.
    var guests: Set<ServerName> = []
    /// Restored ones whose notify sockets are still to be opened.
    var socketless: [(name: ServerName, memory: SourceMemory)] = []
    /// The source of a server that is not configured.
    nonisolated static let guestSource = AnySourceSettings(PushSettings())
    /// Whether the configuration's choice has been selected, or has been overridden.
    var hasSelected = false
    /// What an earlier run has left of the sources of servers that the monitor has restored; empty after the first
    /// configuration whose files can all be used.
    var restored: [ServerName: SourceMemory] = [:]
    /// Whether a file whose last content is not known, because of a restart, may select the server that was configured
    /// then.
    private var keepsChoice = false
    /// Those of them that are failed until such a file is corrected.
    var waiting: Set<ServerName> = []
    /// A file of the configuration that cannot be used now.
    private(set) var failedFile: String?
    /// The sources of removed servers whose loads are still ending.
    private var departed: [ServerName: Departed] = [:]

    private struct Departed {
        weak var source: (any Source)?
    }

    /// Creates a registry without servers.
    ///
    /// - Parameters:
    ///   - monitor: the monitor, which may have restored servers.
    ///   - factory: makes their sources.
    ///   - logger: reports why a server cannot be followed.
    ///   - restored: what an earlier run has left of its sources, and the server that its configuration selected.
    init(monitor: StatusMonitor, factory: SourceFactory, logger: Logger, restored: StoreContents = StoreContents()) {
        self.monitor = monitor
        self.factory = factory
        self.logger = logger
        startWarnings = LogLimiter(logger, .warning)
        socketFailures = LogLimiter(logger, .warning)
        guard restored.memory != nil else { return }
        self.restored = restored.sources
        // A selection is kept until the configuration selects another server.
        configuration.select = restored.configuredSelection
        hasSelected = true
        keepsChoice = true
    }

    // MARK: Configuration

    /// Applies a new configuration.
    ///
    /// Servers whose configuration is the same are not touched, unless other users may send to their notify sockets
    /// now, or these sockets are gone.
    func apply(_ read: ReadConfiguration) -> ReloadReply {
        let new = withKnownChoice(read)
        keepsChoice = keepsChoice && read.failedFile != nil
        access = read.accounts.access
        failedFile = read.failedFile
        factory.prepare(new.limits.checks, read.accounts)
        let (old, failures) = (configuration.servers, startFailures)
        // The administrator's new choice overrides a selection that a client made since.
        let isOtherSelected = new.select != configuration.select
        if isOtherSelected { hasSelected = false }
        let former = try? monitor.selectedState().name
        configuration = new
        let plan = ReloadPlan(from: old, guests: guests, to: new) { startFailures[$0] != nil || needsNewSocket($0) }
        var reply = reply(to: plan, of: read)
        reply.changed += plan.inOrder.compactMap { carryOut($0.step, for: $0.name) ? $0.name.rawValue : nil }
        reply.changed.sort()
        reply.failed = read.errors.map(Failure.init)
        for name in guests where sources[name] == nil || needsNewSocket(name) { openNotifySocket(ofGuest: name) }
        keepRestored()
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
        let selected = try? monitor.selectedState().name
        if selected == nil { reply.deselected = former?.rawValue }
        if selected != former { reply.selected = selected?.rawValue }
        let selectionWarning = isOtherSelected ? selectionWarning : delayedSelection(read)
        if let selectionWarning { reply.warnings?.append(selectionWarning) }
        return reply
    }

    /// The changes that a new configuration would cause.
    func plan(_ read: ReadConfiguration) -> ReloadReply {
        let new = withKnownChoice(read)
        var reply = reply(to: ReloadPlan(from: configuration.servers, guests: guests, to: new), of: read)
        reply.failed = read.errors.map(Failure.init)
        let former = try? monitor.selectedState().name
        let isRemoved = former.map { reply.removed.contains($0.rawValue) } ?? false
        reply.selected = selection(by: new, isFree: isRemoved && former.map(waiting.contains) ?? false)?.rawValue
        if reply.selected == nil, isRemoved { reply.deselected = former?.rawValue }
        if let warning = delayedSelection(read) { reply.warnings = [warning] }
        return reply
    }

    /// The configuration, with the choice of before as long as a file may make it that cannot be used.
    private func withKnownChoice(_ read: ReadConfiguration) -> Configuration {
        var new = read.configuration
        if keepsChoice, read.failedFile != nil { new.select = configuration.select }
        return new
    }

    /// The server that a new configuration would select instead of the present one; nil if the selection would stay.
    ///
    /// - Parameter isFree: whether the selected server had waited for a file that does not configure it any more.
    private func selection(by new: Configuration, isFree: Bool) -> ServerName? {
        guard isFree || !hasSelected || new.select != configuration.select, let name = new.select,
            new.servers[name] != nil || new.acceptsAny && guests.contains(name),
            (try? monitor.selectedState().name) != name
        else { return nil }
        return name
    }

    /// Carries out a step of a plan; returns whether something changed that the plan does not list.
    private func carryOut(_ step: ReloadPlan.Step, for name: ServerName) -> Bool {
        let server = configuration.servers[name]
        switch step {
        case .remove:
            guests.remove(name)
            remove(name)
        case .add:
            guard let server else { break }
            waiting.remove(name)
            if let memory = restored.removeValue(forKey: name) {
                adopt(name, server, memory)
            } else {
                add(name, server)
            }
        case .change(let source):
            guests.remove(name)
            if let server { change(name, from: source, to: server) }
            // What is kept of its source is another one now.
            monitor.keepUnsaved([name])
        case .restart:
            guard let server else { break }
            let failure = startFailures[name]
            change(name, from: server.source, to: server)
            // A source that still cannot be started is not a change.
            return startFailures[name] != failure
        }
        return false
    }

    /// The warning that the configured server is not selected yet; nil if it needs none.
    ///
    /// If clients cannot add servers, the configuration's reader has warned already.
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

    /// The warning that the configured server is not selected as long as ``withKnownChoice(_:)`` keeps another choice.
    private func delayedSelection(_ read: ReadConfiguration) -> Failure? {
        let configured = read.configuration
        guard keepsChoice, let file = read.failedFile, let name = configured.select, name != configuration.select,
            let origin = configured.selectOrigin
        else { return nil }
        return Failure(
            file: origin.file, line: origin.line, server: nil,
            reason: "“select: \(name)” takes effect when \(file) is correct, which may select another server")
    }

    private func needsNewSocket(_ name: ServerName) -> Bool {
        guard let source = sources[name] as? NotifySource else { return false }
        let settings = configuration.servers[name]?.source?.base as? NotifySettings
        return !factory.sockets.isCurrent(source, users: settings?.users ?? [])
    }

    /// Selects the configured server once it exists: if posts may add servers, that may be later.
    func selectFirst() {
        guard !hasSelected, let name = configuration.select else { return }
        hasSelected = (try? monitor.select(name)) != nil
    }

    /// Notes that a client has selected, which overrides the configuration's choice.
    func didSelect() { hasSelected = true }

    private func add(_ name: ServerName, _ server: ServerConfiguration) {
        // A load of its predecessor may still be ending.
        let failure = start(server, of: name, predecessor: departed.removeValue(forKey: name)?.source)
        monitor.add(server.definition(name: name, failure: failure))
    }

    private func change(_ name: ServerName, from source: AnySourceSettings?, to server: ServerConfiguration) {
        let state = try? monitor.state(of: name)
        // During the first load of a source, nothing of it is shown.
        let isShown = state?.phase != .loading || state?.status != nil
        let shownSubject = shownSubjects.removeValue(forKey: name) ?? (isShown ? source?.identity : nil)
        let isOther = shownSubject != server.source?.identity
        let failure = start(
            server, of: name, predecessor: removeSource(of: name),
            shown: isOther ? nil : state?.status?.level)
        if failure != nil { shownSubjects[name] = .some(shownSubject) }
        try? monitor.redefine(
            server.definition(name: name, failure: failure), isOfNewSource: isOther && failure == nil)
    }

    func remove(_ name: ServerName, by caller: Caller? = nil) {
        let source = removeSource(of: name)
        source?.close()
        // Other sources have ended when they are closed.
        departed[name] = (source as? CheckSource).map { Departed(source: $0) }
        startFailures[name] = nil
        shownSubjects.removeValue(forKey: name)
        // If it comes back, it is selected again.
        if name == configuration.select, (try? monitor.selectedState().name) == name { hasSelected = false }
        try? monitor.remove(name, by: caller)
    }

    func removeSource(of name: ServerName) -> (any Source)? {
        sources.removeValue(forKey: name) ?? closedSources.removeValue(forKey: name)
    }

    /// Starts a server's source, in place of its predecessor; returns why it cannot be followed, if so.
    func start(
        _ server: ServerConfiguration, of name: ServerName, predecessor: (any Source)? = nil, shown: Level? = nil,
        restored: RestoredSource? = nil
    ) -> String? {
        startFailures[name] = nil
        if let failure = server.failure {
            predecessor?.close()
            closedSources[name] = predecessor
            return failure
        }
        do throws(SourceProblem) {
            sources[name] = try factory.start(
                server, of: name, predecessor: predecessor, shown: shown, restored: restored)
            return nil
        } catch {
            startFailures[name] = error.description
            closedSources[name] = predecessor
            startWarnings.log(
                "cannot follow \(name): \(error)", about: Self.subject(name, error.description),
                metadata: .of(.cannotFollow).merging(["server": "\(name)"]) { $1 })
            return error.description
        }
    }

    /// The subject of a warning: each reason is limited by itself.
    private static func subject(_ name: ServerName, _ reason: String) -> String { "\(name): \(reason)" }

    /// Why a server cannot be followed; nil if it can.
    func failure(of name: ServerName) -> String? {
        configuration.servers[name]?.failure ?? startFailures[name] ?? missingReason(of: name)
    }

    /// Closes all sources; what they knew can still be saved (``memory(of:)``).
    func close() {
        for source in sources.values { source.close() }
    }
}

extension ServerConfiguration {
    func definition(name: ServerName, failure: String?) -> ServerDefinition {
        ServerDefinition(
            name: name, description: description, source: source?.key ?? "none",
            placeholder: placeholder ?? ServerDefinition.defaultPlaceholder,
            isRefreshable: isRefreshable && failure == nil, takesPosts: !isRefreshable && failure == nil,
            timeToLive: lifetime, interval: source?.delivery == .checked ? schedule.longestPause : nil, failure: failure
        )
    }
}

extension Failure {
    init(_ problem: Problem) {
        self.init(
            file: problem.origin.file, line: problem.origin.line, server: problem.server?.rawValue,
            reason: problem.reason)
    }
}
