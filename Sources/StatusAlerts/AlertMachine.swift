// SPDX-License-Identifier: Apache-2.0

public import StatusModel

/// Decides what each receiver is told, so that the last thing that it was told is what is true.
///
/// A state machine over events and times since boot; it does no I/O and reads no clock. For each receiver and server it
/// keeps what the receiver was told last (``Told``). A level that differs is due if it has lasted, is wanted, and is
/// not held. A delivery has all that is due. Only its success changes what was told, and to what was sent, so that
/// a change during a delivery is due again.
public struct AlertMachine: Sendable {
    /// What is known of a server.
    struct Server {
        var rule: AlertRule
        /// The counted level; nil before the first status.
        var level: Level?
        /// Whether its children cannot be reached: it is critical or failed.
        var isDown = false
        /// When the level became this one.
        var since: (boot: Duration, wall: Timestamp)
        /// When the server was first seen, or seen again after a time in which nothing was known.
        var seenAt: Duration
        /// When the server last left each level, in the order of `Level.allCases`; empty if it has left none.
        private var left: [Duration] = []
        var isSilenced = false
        /// Whether it must not be told before this time, because programs report again after a start.
        var heldUntil = Duration.zero
        /// When the last hold ended, if a result that is newer than this must come first.
        var mustRecheck: Duration?
        /// When the newest result was requested, or its level changed.
        var resultAt = Duration.zero
        /// When a new result was requested; nil if none is awaited.
        var recheckedAt: Duration?
        var children: Set<ServerName> = []

        init(_ rule: AlertRule, since: (boot: Duration, wall: Timestamp)) {
            (self.rule, self.since, seenAt) = (rule, since, since.boot)
        }

        /// Begins anew, because nothing was known until this time.
        mutating func begin(at now: Duration) { (seenAt, left) = (now, []) }

        /// Notes that the server leaves a level.
        mutating func leave(_ level: Level, at now: Duration) {
            guard let index = Level.allCases.firstIndex(of: level) else { return }
            if left.isEmpty { left = Level.allCases.map { _ in seenAt } }
            left[index] = now
        }

        /// Since when the level has been one of these.
        func since(in levels: Set<Level>) -> Duration {
            if levels.isSuperset(of: Level.allCases) { return since.boot }
            return zip(Level.allCases, left).filter { !levels.contains($0.0) }.map(\.1).max() ?? seenAt
        }
    }

    struct Receiver {
        var settings: AlertReceiver
        /// The running delivery, with what the receiver knew before it.
        var sending: [(alert: Alert, before: Told)]?
        /// The number of that delivery, or of the last one.
        var delivery = 0
        /// When the first of what is due became due; nil if nothing is.
        var dueSince: Duration?
        var failures = 0
        var nextAttempt = Duration.zero

        func isSending(_ name: ServerName) -> Bool { sending?.contains { $0.alert.server == name } ?? false }
    }

    /// What to do.
    public enum Action: Equatable, Sendable {
        /// Save ``takeUnsaved()``, run the receiver's program after the end of the one before, and then call
        /// ``ended(_:number:_:at:jitter:)``.
        case deliver(receiver: String, number: Int, [Alert])
        /// Check the server, and then call ``rechecked(_:)``.
        case recheck(ServerName)
    }

    /// How long programs may take to report after a start.
    static let startHold = Duration.seconds(10)

    var servers: [ServerName: Server] = [:]
    var receivers: [String: Receiver] = [:]
    var told: [AlertKey: Told] = [:]
    /// The servers of which some receiver may not know the level; the others cost nothing.
    private(set) var open: Set<ServerName> = []
    /// The open servers to look at again; the others wait for a time, or for another server.
    var pending: Set<ServerName> = []
    var wakes = WakeTimes()
    /// The servers whose parent is not there, by the parent.
    private var orphans: [ServerName: Set<ServerName>] = [:]
    var lastDelivery = 0
    private var unsaved: Set<AlertKey> = []
    private let startedAt: Duration

    /// Creates a machine that continues with what receivers were told in an earlier run.
    public init(told: [AlertKey: Told] = [:], at now: Duration) {
        self.told = told
        startedAt = now
        for key in told.keys { reopen(key.server) }
    }

    // MARK: Settings

    /// Whether nobody is told anything.
    public var isIdle: Bool { receivers.isEmpty }

    /// Takes the receivers of a configuration; what a removed one was told is kept, in case that it comes back.
    ///
    /// Without receivers, the servers are forgotten, because each takes half a kilobyte.
    public mutating func configure(_ settings: [String: AlertReceiver]) {
        for name in receivers.keys where settings[name] == nil { receivers[name] = nil }
        for (name, settings) in settings { receivers[name, default: Receiver(settings: settings)].settings = settings }
        if isIdle { (servers, orphans, open, pending, wakes) = ([:], [:], [], [], WakeTimes()) }
        for name in servers.keys { reopen(name) }
        for key in told.keys { reopen(key.server) }
    }

    /// Looks at a server again.
    mutating func reopen(_ name: ServerName) {
        open.insert(name)
        pending.insert(name)
    }

    /// Looks at a server no more, until something happens.
    mutating func settle(_ name: ServerName) {
        open.remove(name)
        pending.remove(name)
    }

    /// Adds a server, or changes its rule.
    public mutating func set(_ rule: AlertRule, for name: ServerName, at now: Duration, wall: Timestamp) {
        let old = servers[name]?.rule
        guard rule != old else { return }
        detach(name, from: old?.parent)
        servers[name, default: Server(rule, since: (now, wall))].rule = rule
        if old != nil, rule.parent != old?.parent { hold(name, until: now) }
        if !rule.isChecked { servers[name]?.mustRecheck = nil }
        if let children = orphans.removeValue(forKey: name) { servers[name]?.children = children }
        if let parent = rule.parent {
            if servers[parent] == nil {
                orphans[parent, default: []].insert(name)
            } else {
                servers[parent]?.children.insert(name)
            }
        }
        reopen(name)
        for child in descendants(of: name) { reopen(child) }
    }

    private mutating func detach(_ name: ServerName, from parent: ServerName?) {
        guard let parent else { return }
        servers[parent]?.children.remove(name)
        orphans[parent]?.remove(name)
        if orphans[parent]?.isEmpty == true { orphans[parent] = nil }
    }

    /// Removes a server; what receivers know of it is told to be removed.
    public mutating func remove(_ name: ServerName, at now: Duration) {
        detach(name, from: servers[name]?.rule.parent)
        if servers[name]?.isDown == true { endHold(ofChildrenOf: name, at: now) }
        for child in descendants(of: name) { reopen(child) }
        if let children = servers[name]?.children, !children.isEmpty { orphans[name] = children }
        servers[name] = nil
        reopen(name)
    }

    // MARK: Events

    /// Takes a server's state after a start, whose level has lasted for some time.
    ///
    /// It is told only after a new result, because the state is from before the start.
    public mutating func restore(
        _ name: ServerName, level: Level?, isDown: Bool, isSilenced: Bool, since: (boot: Duration, wall: Timestamp)
    ) {
        guard servers[name] != nil else { return }
        servers[name]?.level = level
        servers[name]?.isDown = isDown
        servers[name]?.since = since
        servers[name]?.begin(at: since.boot)
        servers[name]?.isSilenced = isSilenced
        hold(name, until: startedAt)
        servers[name]?.heldUntil = startedAt + Self.startHold
        reopen(name)
    }

    public func hasServer(_ name: ServerName) -> Bool { servers[name] != nil }

    /// Takes a server's state after a change; returns whether that may matter to a receiver.
    @discardableResult
    public mutating func take(
        _ name: ServerName, level: Level?, isDown: Bool, isSilenced: Bool, at now: Duration, wall: Timestamp
    ) -> Bool {
        guard let old = servers[name] else { return false }
        if level == old.level, isDown == old.isDown, isSilenced == old.isSilenced { return false }
        if level != old.level {
            if let level = old.level { servers[name]?.leave(level, at: now) } else { servers[name]?.begin(at: now) }
            servers[name]?.level = level
            servers[name]?.since = (now, wall)
            servers[name]?.resultAt = now
            reopen(name)
            reopenWaiting(for: name)
        }
        if isSilenced != old.isSilenced {
            servers[name]?.isSilenced = isSilenced
            if !isSilenced { hold(name, until: now) }
            reopen(name)
        }
        if isDown != old.isDown {
            servers[name]?.isDown = isDown
            if !isDown { endHold(ofChildrenOf: name, at: now) }
        }
        return true
    }

    /// Notes that the check of a server that was requested has ended, however it ended.
    public mutating func rechecked(_ name: ServerName) {
        guard let began = servers[name]?.recheckedAt else { return }
        servers[name]?.recheckedAt = nil
        let resultAt = max(began, servers[name]?.resultAt ?? began)
        servers[name]?.resultAt = resultAt
        if let end = servers[name]?.mustRecheck, began >= end { servers[name]?.mustRecheck = nil }
        if open.contains(name) { reopen(name) }
        reopenWaiting(for: name)
    }

    /// Looks again at the servers that may wait for a result of this one.
    private mutating func reopenWaiting(for name: ServerName) {
        guard servers[name]?.rule.isChecked == true else { return }
        for child in descendants(of: name) where open.contains(child) { reopen(child) }
    }

    /// The servers that cannot be reached without this one.
    private func descendants(of name: ServerName) -> [ServerName] {
        var (found, seen) = ([ServerName](), Set([name]))
        var names = Array(servers[name]?.children ?? [])
        while let child = names.popLast() {
            guard seen.insert(child).inserted else { continue }
            found.append(child)
            names += servers[child]?.children ?? []
        }
        return found
    }

    /// Notes that a hold has ended, so that only a newer result is told.
    private mutating func hold(_ name: ServerName, until now: Duration) {
        if servers[name]?.rule.isChecked == true { servers[name]?.mustRecheck = now }
        reopen(name)
    }

    private mutating func endHold(ofChildrenOf name: ServerName, at now: Duration) {
        for child in descendants(of: name) { hold(child, until: now) }
    }

    // MARK: What is known

    /// What a receiver knows of a server.
    func told(_ key: AlertKey) -> Told { told[key] ?? Told() }

    mutating func set(_ value: Told?, for key: AlertKey) {
        guard value != told[key], value?.isInitial != true || told[key] != nil else { return }
        told[key] = value?.isInitial == true ? nil : value
        unsaved.insert(key)
    }

    /// Whether something has changed since the last ``takeUnsaved()``.
    public var hasUnsaved: Bool { !unsaved.isEmpty }

    /// Notes that something could not be saved.
    public mutating func keepUnsaved(_ keys: [AlertKey]) { unsaved.formUnion(keys) }

    /// Notes that everything must be saved, because nothing of it is any more.
    public mutating func keepAllUnsaved() { unsaved.formUnion(told.keys) }

    /// Takes what has changed since the last call; nil for what need not be kept.
    public mutating func takeUnsaved() -> [(AlertKey, Told?)] {
        defer { unsaved = [] }
        return unsaved.map { ($0, told[$0]) }
    }
}
