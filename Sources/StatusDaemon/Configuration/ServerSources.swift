// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Logging
import SourceKinds
import StatusAlerts
import StatusConfiguration
import StatusModel
import StatusMonitor
import StatusSources

/// Starts, replaces and closes the sources of the followed servers, and reports this to the monitor.
@EventLoop
final class ServerSources {
    /// The state of one server's source.
    private enum Entry {
        /// The source is running; nil if the server needs none.
        case running((any Source)?)
        /// The server was added by a post to an earlier run; its notify socket is opened in a later turn.
        indirect case pending(SourceMemory)
        /// The server cannot be followed now.
        indirect case failed(Failed)
    }

    private struct Failed {
        /// Why the source could not be started, until a reload retries; nil if the configuration is invalid.
        var reason: String?
        /// The closed source, whose data is used when the server can be followed again.
        var source: (any Source)?
        /// The subject of the status that the server still shows (`AnySourceSettings.identity`); nil if none.
        ///
        /// If the server is followed again, a status of this subject may be shown again.
        var shown: Int64?
    }

    private let monitor: StatusMonitor
    private let factory: SourceFactory
    /// Limited, because clients can make the daemon reload, and retry, at any rate.
    private let startWarnings: LogLimiter
    /// Limited, because clients can make the daemon open notify sockets at any rate.
    private let socketFailures: LogLimiter
    private var entries: [ServerName: Entry] = [:]
    /// The unconfigured servers whose notify sockets are to be opened, or to be checked again.
    private var pending: [ServerName] = []
    private var isOpening = false

    init(monitor: StatusMonitor, factory: SourceFactory, logger: Logger) {
        self.monitor = monitor
        self.factory = factory
        startWarnings = LogLimiter(logger, .warning)
        socketFailures = LogLimiter(logger, .warning)
    }

    /// Makes room for the sources of this many servers.
    func reserveCapacity(_ count: Int) { entries.reserveCapacity(count) }

    subscript(name: ServerName) -> (any Source)? {
        if case .running(let source) = entries[name] { source } else { nil }
    }

    /// Why a server's source could not be started; nil if it could.
    func startFailure(of name: ServerName) -> String? {
        if case .failed(let failed) = entries[name] { failed.reason } else { nil }
    }

    /// Why sources of some servers could not be started, in the order of the names.
    func startFailures(of names: some Sequence<ServerName>) -> [(name: ServerName, reason: String)] {
        names.compactMap { name in startFailure(of: name).map { (name, $0) } }.sorted { $0.0 < $1.0 }
    }

    /// Applies the limits and accounts of a new configuration.
    func prepare(_ limits: CheckLimits, _ accounts: Accounts) { factory.prepare(limits, accounts) }

    // MARK: Configured servers

    func add(_ name: ServerName, _ server: ServerConfiguration) {
        let definition = server.definition(name: name, failure: start(server, of: name, predecessor: nil))
        // The name may be one of another host's server.
        if !monitor.add(definition) { try? monitor.redefine(definition, isOfNewSource: true) }
    }

    /// Continues with a server that the monitor has restored.
    func adopt(_ name: ServerName, _ server: ServerConfiguration, _ memory: SourceMemory) {
        let isFromBefore = (try? monitor.state(of: name))?.isRestored == true
        let isOther = redefine(
            name, server, shown: memory.subject, restored: isFromBefore ? restored(name, memory) : nil)
        if isOther || memory.isGuest { monitor.keepUnsaved([name]) }
    }

    /// Replaces a server's source, which was made for these settings.
    func change(_ name: ServerName, from settings: AnySourceSettings?, to server: ServerConfiguration) {
        let state = try? monitor.state(of: name)
        // During the first load of a source, nothing of it is shown.
        var shown = state?.phase != .loading || state?.status != nil ? settings?.identity : nil
        if case .failed(let failed) = entries[name] { shown = failed.shown }
        redefine(name, server, shown: shown, predecessor: takeSource(of: name))
    }

    /// Whether a server's source could not be started, or its notify socket is gone or reaches the wrong users.
    func mustRetry(_ name: ServerName, _ server: ServerConfiguration) -> Bool {
        let users = (server.source?.base as? NotifySettings)?.users
        return startFailure(of: name) != nil || !hasCurrentSocket(name, users: users ?? [])
    }

    /// Starts the source again; returns whether this changed something, which a repeated failure does not.
    func retry(_ name: ServerName, _ server: ServerConfiguration) -> Bool {
        let before = startFailure(of: name)
        change(name, from: server.source, to: server)
        return startFailure(of: name) != before
    }

    func remove(_ name: ServerName, by caller: Caller? = nil) {
        takeSource(of: name)?.close()
        set(nil, of: name)
        try? monitor.remove(name, by: caller)
    }

    /// Starts a server's source and redefines the server; returns whether the source has another subject than the
    /// shown status.
    @discardableResult
    private func redefine(
        _ name: ServerName, _ server: ServerConfiguration, shown subject: Int64?, predecessor: (any Source)? = nil,
        restored: RestoredSource? = nil
    ) -> Bool {
        let isOther = subject == nil || subject != server.source?.identity
        let level = isOther ? nil : (try? monitor.state(of: name))?.status?.level
        let failure = start(
            server, of: name, predecessor: predecessor, shown: level, subject: subject,
            restored: isOther ? nil : restored)
        try? monitor.redefine(
            server.definition(name: name, failure: failure), isOfNewSource: isOther && failure == nil)
        return isOther
    }

    /// Starts a server's source in place of its predecessor; returns why the server cannot be followed, or nil.
    ///
    /// - Parameters:
    ///   - level: the shown level, if it came from the same subject.
    ///   - subject: the subject of the shown status.
    private func start(
        _ server: ServerConfiguration, of name: ServerName, predecessor: (any Source)?, shown level: Level? = nil,
        subject: Int64? = nil, restored: RestoredSource? = nil
    ) -> String? {
        var failed = Failed(source: predecessor, shown: subject)
        if let failure = server.failure {
            predecessor?.close()
            set(.failed(failed), of: name)
            return failure
        }
        do throws(SourceProblem) {
            let source = try factory.start(
                server, of: name, predecessor: predecessor, shown: level, restored: restored)
            set(.running(source), of: name)
            return nil
        } catch {
            failed.reason = error.description
            set(.failed(failed), of: name)
            startWarnings.log(
                "cannot follow \(name): \(error)", about: Self.subject(name, error.description),
                metadata: .of(.cannotFollow).merging(["server": "\(name)"]) { $1 })
            return error.description
        }
    }

    /// Replaces an entry.
    ///
    /// If the reason for a failed start has gone, the reason is logged again when it returns.
    private func set(_ entry: Entry?, of name: ServerName) {
        let before = startFailure(of: name)
        entries[name] = entry
        if let before, before != startFailure(of: name) { startWarnings.forget(Self.subject(name, before)) }
    }

    /// The subject of a warning, so that each reason is limited separately.
    private static func subject(_ name: ServerName, _ reason: String) -> String { "\(name): \(reason)" }

    private func takeSource(of name: ServerName) -> (any Source)? {
        switch entries[name] {
        case .running(let source): source
        case .failed(let failed): failed.source
        case .pending, nil: nil
        }
    }

    // MARK: Servers that are not configured

    /// Opens the notify socket of a server that was added by a post, unless it has one.
    ///
    /// The server's program may use sd_notify as well as posts. If opening fails, posts still work.
    func openSocket(of name: ServerName) {
        var memory: SourceMemory?
        if case .pending(let saved) = entries[name] { memory = saved }
        if case .running = entries[name], hasCurrentSocket(name, users: []) { return }
        let source = takeSource(of: name) as? NotifySource
        do throws(SourceProblem) {
            entries[name] = .running(
                try factory.sockets.open(
                    for: name, existing: source, restored: memory.flatMap { restored(name, $0) }))
        } catch {
            entries[name] = .failed(Failed(source: source, shown: FollowedServers.unconfiguredSource.identity))
            socketFailures.log(
                "cannot open the notify socket of \(name): \(error)", about: "notify sockets",
                metadata: ["server": "\(name)"])
        }
    }

    /// Leaves the notify socket of a restored server to ``openPendingSockets(while:)``.
    func openSocketLater(of name: ServerName, _ memory: SourceMemory) {
        entries[name] = .pending(memory)
        pending.append(name)
    }

    /// Leaves to ``openPendingSockets(while:)`` whether all unconfigured servers have the right sockets.
    func checkSocketsLater(of names: [ServerName]) { pending = names }

    /// Opens notify sockets, a part in each turn, because there may be thousands.
    ///
    /// - Parameter isUnconfigured: whether a server is still not configured.
    func openPendingSockets(while isUnconfigured: @escaping @EventLoop (ServerName) -> Bool) {
        let share = TurnShare()
        while !share.isUsedUp, let name = pending.popLast() {
            if isUnconfigured(name) { openSocket(of: name) }
        }
        guard !pending.isEmpty, !isOpening else { return }
        isOpening = true
        EventLoop.atNextTurn { [weak self] in
            self?.isOpening = false
            self?.openPendingSockets(while: isUnconfigured)
        }
    }

    /// Whether a server's notify socket exists, and exactly the usual users and these users can reach it.
    ///
    /// Also true if the server needs no socket.
    private func hasCurrentSocket(_ name: ServerName, users: [String]) -> Bool {
        guard let source = self[name] as? NotifySource else { return true }
        return factory.sockets.isCurrent(source, users: users)
    }

    // MARK: Restarts of the daemon

    /// The saved data of a restored server's source.
    private func restored(_ name: ServerName, _ memory: SourceMemory) -> RestoredSource? {
        guard let age = try? monitor.age(of: name), let state = try? monitor.state(of: name) else { return nil }
        return RestoredSource(memory, age: age, isUrgent: state.isSelected || state.phase == .failed)
    }

    /// Adds the data to keep over a restart of a server's source, which was made for these settings.
    func note(_ name: ServerName, _ settings: AnySourceSettings?, in memory: inout SourceMemory) {
        memory.subject = settings?.identity
        switch entries[name] {
        case .running(let source): source?.note(in: &memory)
        case .failed(let failed): memory.subject = failed.shown
        case .pending(let saved): memory = saved
        case nil: break
        }
    }

    /// Closes all sources; their data can still be saved.
    func close() {
        for case .running(let source?) in entries.values { source.close() }
    }
}

extension ServerConfiguration {
    fileprivate func definition(name: ServerName, failure: String?) -> ServerDefinition {
        ServerDefinition(
            name: name, description: description, parent: alert.parent, source: source?.key ?? "none",
            placeholder: placeholder ?? ServerDefinition.defaultPlaceholder,
            isRefreshable: isRefreshable && failure == nil, takesPosts: takesPosts && failure == nil,
            timeToLive: lifetime, interval: source?.delivery == .checked ? schedule.longestPause : nil, failure: failure
        )
    }
}
