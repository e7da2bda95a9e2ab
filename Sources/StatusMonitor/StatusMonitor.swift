// SPDX-License-Identifier: Apache-2.0

public import NotificationStreams
public import StatusModel
import Synchronization

/// The servers, their states, and the selection.
///
/// Every change of any server gets the next revision of one log, under a lock. Then, outside the lock and on the
/// caller's thread, the server posts its notification and the log's readers are woken. So a caller on the event loop
/// reaches every stream without another thread.
public final class StatusMonitor: Sendable {
    public let bus: NotificationBus

    let clock: @Sendable () -> Moment
    let ledger: Mutex<Ledger>
    let onExpiry = Mutex<(@Sendable (Duration) -> Void)?>(nil)
    private let onUnsaved = Mutex<(@Sendable () -> Void)?>(nil)

    /// Creates a monitor without servers, or with the servers of an earlier run.
    ///
    /// - Parameters:
    ///   - epoch: identifies the events of this run in cursors, unless it continues the log of an earlier run.
    ///   - memory: the saved data of an earlier run.
    ///   - notesUnsaved: whether to note changed servers, for ``takeUnsaved()``.
    ///   - capacities: the number of events that the log keeps usually, and at most, for a reader that has fallen
    ///     behind; powers of two. The defaults are the events of 7 ms and 30 ms at full load; a reader may not be
    ///     scheduled for 10 ms.
    ///   - bus: where servers post their notifications.
    ///   - clock: returns the current time.
    public init(
        epoch: Epoch = .random(), restoring memory: LedgerMemory? = nil, notesUnsaved: Bool = false,
        capacities: ClosedRange<Int> = 4096...16384, bus: NotificationBus = NotificationBus(),
        clock: @escaping @Sendable () -> Moment = Moment.now
    ) {
        self.bus = bus
        self.clock = clock
        var ledger = Ledger(epoch: epoch, capacities: capacities, notesUnsaved: notesUnsaved)
        if let memory { ledger.restore(memory, at: clock()) }
        self.ledger = Mutex(ledger)
    }

    // MARK: Reading

    /// The cursor after the newest event.
    public var cursor: Cursor { ledger.withLock { $0.cursor } }

    /// All servers, sorted by name.
    public var states: [ServerState] { states(after: nil, limit: .max) }

    /// At most `limit` servers after `name`, sorted by name; from the first one if nil.
    public func states(after name: ServerName?, limit: Int) -> [ServerState] {
        ledger.withLock { $0.states(after: name, limit: limit) }
    }

    /// At most `limit` of the wanted servers after `name`, sorted by name, and the server to continue after; nil after
    /// the last one.
    ///
    /// There may be none of them although others follow, so that a call takes little time.
    public func states(
        after name: ServerName?, limit: Int, in scope: ServerScope
    ) -> (states: [ServerState], end: ServerName?) {
        ledger.withLock { $0.states(after: name, limit: limit, in: scope) }
    }

    /// The number of servers.
    public var serverCount: Int { ledger.withLock { $0.records.indices.count } }

    /// Makes room for this many servers, because a table of many thousands that grows takes long.
    public func reserveCapacity(_ count: Int) { ledger.withLock { $0.records.reserveCapacity(count) } }

    /// The state of one server.
    public func state(of name: ServerName) throws(LedgerError) -> ServerState {
        try ledger.withLock { ledger throws(LedgerError) in try ledger.state(of: name) }
    }

    public func selectedState() throws(LedgerError) -> ServerState {
        try ledger.withLock { ledger throws(LedgerError) in try ledger.selectedState() }
    }

    public var selection: Selection { ledger.withLock { $0.selection } }

    public var watchCount: Int { ledger.withLock { $0.watches.count } }

    // MARK: Servers

    /// Adds a server; returns false if the name is taken.
    @discardableResult
    public func add(_ definition: ServerDefinition, by caller: Caller? = nil) -> Bool {
        change { ledger, now in ledger.add(definition, by: caller, at: now) } != nil
    }

    /// Removes a server, and clears the selection if it was selected.
    ///
    /// - Parameter caller: the client that requested it.
    public func remove(_ name: ServerName, by caller: Caller? = nil) throws(LedgerError) {
        var wasSelected = false
        try change { ledger, _ throws(LedgerError) in
            wasSelected = ledger.selected == name
            return try ledger.remove(name, by: caller)
        }
        if wasSelected { postSelection() }
    }

    /// Changes a server's definition.
    ///
    /// The last status stays, unless `isOfNewSource`; then it is dropped, and a loaded server is not current until its
    /// first load has ended.
    ///
    /// - Parameter isOfNewSource: whether its statuses come from another source from now on.
    public func redefine(_ definition: ServerDefinition, isOfNewSource: Bool = false) throws(LedgerError) {
        try change { ledger, now throws(LedgerError) in
            try ledger.redefine(definition, isOfNewSource: isOfNewSource, at: now)
        }
    }

    /// Shows a server as failed, with its last status, for a reason; it takes no posts until it is redefined.
    public func fail(_ name: ServerName, because reason: String) throws(LedgerError) {
        try change { ledger, now throws(LedgerError) in try ledger.fail(name, because: reason, at: now) }
    }

    /// Lets no group change until ``setGroups(_:)``, while many servers are changed at once.
    public func suspendGroups() { ledger.withLock { $0.suspendGroups() } }

    /// Replaces the rules of all groups, by the names of the servers whose status they determine.
    ///
    /// Afterwards, a group changes together with its members.
    public func setGroups(_ rules: [ServerName: GroupRule]) {
        change { ledger, _ in ledger.setGroups(rules) }
    }

    // MARK: Statuses

    /// Posts a status of a server; returns the revision of the event.
    ///
    /// - Parameter poster: The sender. Clients may post only to servers whose definition allows it.
    @discardableResult
    public func post(
        _ text: StatusText, level: Level = .ok, values: [MeasuredValue] = [], to name: ServerName,
        by poster: Poster = .source
    ) throws(LedgerError) -> Int {
        let now = clock()
        return perform(
            try ledger.withLock { ledger throws(LedgerError) in
                var effects = try ledger.post(text, level: level, values: values, to: name, by: poster, at: now)
                if ledger.groups.isDue { ledger.settleGroups(into: &effects, at: now) }
                return effects
            })
    }

    /// Notes a sign of life of a server; one without a status stays without.
    public func touch(_ name: ServerName) throws(LedgerError) {
        try change { ledger, now throws(LedgerError) in try ledger.touch(name, at: now) }
    }

    // MARK: Selecting

    /// Selects a server, or none; does nothing if it is selected already.
    ///
    /// When it returns, every reader sees the new server. Tasks that follow the selection, such as
    /// ``SelectionWatcher``, may not have seen it yet.
    ///
    /// - Parameter caller: the client that requested it.
    @discardableResult
    public func select(_ name: ServerName?, by caller: Caller? = nil) throws(LedgerError) -> SelectionChange {
        try moveSelection { ledger throws(LedgerError) in try ledger.select(name, by: caller) }
    }

    /// Selects the worst server, the first by name of several; does nothing if the selected one is as bad.
    @discardableResult
    public func selectWorst(by caller: Caller? = nil) -> SelectionChange {
        moveSelection { ledger in ledger.selectWorst(by: caller) }
    }

    private func moveSelection<Failure>(
        _ move: (inout Ledger) throws(Failure) -> Effects?
    ) throws(Failure) -> SelectionChange {
        var effects: Effects?
        let change = try ledger.withLock { ledger throws(Failure) in
            let previous = ledger.selected
            effects = try move(&ledger)
            return SelectionChange(
                selection: ledger.selection, state: try? ledger.selectedState(), previous: previous,
                isChange: ledger.selected != previous, cursor: ledger.cursor)
        }
        perform(ifAny: effects)
        if change.isChange { postSelection() }
        return change
    }

    // MARK: Silences

    /// Begins a server's silence, or changes or ends it; does nothing if it is the same.
    ///
    /// - Parameter caller: the client that requested it.
    public func silence(_ name: ServerName, _ silence: Silence?, by caller: Caller? = nil) throws(LedgerError) {
        try change { ledger, _ throws(LedgerError) in try ledger.silence(name, silence, by: caller) }
    }

    // MARK: Watching

    /// Adds a reader of the log, which begins with the current state, or after a cursor.
    ///
    /// - Parameters:
    ///   - target: the events to read.
    ///   - updates: whether to read statuses that were posted again unchanged, too.
    ///   - since: the cursor to continue after. If it is too old or from another epoch, the reader begins with a gap
    ///     and a snapshot.
    ///   - mayComeLater: whether to wait for a server that does not exist yet, instead of throwing.
    ///   - onEvents: called on the thread that makes the change, when there is something to read after
    ///     ``Watch/next()`` returned nil. While it is not read, called again, as overdue, after each eighth of the log.
    public func watch(
        _ target: WatchTarget, updates: Bool = false, since: Cursor? = nil, mayComeLater: Bool = false,
        onEvents: @escaping @Sendable (WatchUrgency) -> Void
    ) throws(LedgerError) -> Watch {
        let id = try ledger.withLock { ledger throws(LedgerError) in
            try ledger.watch(target, updates: updates, since: since, mayComeLater: mayComeLater, wake: onEvents)
        }
        return Watch(id: id, monitor: self)
    }

    // MARK: Probing

    /// Sends a probe into the log, and as a notification of `server`; returns its revision.
    func postProbe(as server: Server) -> Int {
        var effects = ledger.withLock { $0.appendProbe() }
        var state = ServerState(name: server.name, source: "probe", phase: .loaded)
        state.revision = effects.revision
        effects.update = ServerUpdate(server: server, update: StatusUpdate(snapshot: ServerSnapshot(state)))
        return perform(effects)
    }

    // MARK: Staleness

    /// Calls `schedule`, on any thread, with times since boot at which to call ``expire()``.
    ///
    /// The earliest of these times counts; they come in any order.
    public func scheduleExpiry(with schedule: @escaping @Sendable (Duration) -> Void) {
        onExpiry.withLock { $0 = schedule }
        expire()
    }

    /// Marks the servers whose status is older than their time to live.
    public func expire() {
        let now = clock()
        let due = ledger.withLock { $0.due(at: now) }
        // Schedule this first, because the effects below may request an earlier time.
        if let next = due.next { onExpiry.withLock { $0 }?(next) }
        for name in due.names { change { ledger, _ in ledger.expire(name, at: now) } }
        loseSilentHosts(at: now)
    }

    // MARK: Saving

    /// Calls `schedule`, on any thread, at the first change after each ``takeUnsaved()``; at once if there was one.
    public func scheduleSaving(with schedule: @escaping @Sendable () -> Void) {
        onUnsaved.withLock { $0 = schedule }
        if ledger.withLock({ $0.unsaved.isNoted }) { schedule() }
    }

    /// Takes the names of the servers that have changed, or were removed, since the last call, and the selection and
    /// the log at this time.
    public func takeUnsaved() -> (names: [ServerName], log: LogMemory) {
        let now = clock()
        return ledger.withLock { $0.takeUnsaved(at: now) }
    }

    /// Notes that all servers must be saved, because none of them is saved any more.
    public func keepAllUnsaved() {
        keepUnsaved(ledger.withLock { ledger in ledger.records.indices.map { ledger.records[$0].state.name } })
    }

    /// The data of some servers to keep over a restart; nil for servers that do not exist.
    public func save(_ names: some Collection<ServerName> & Sendable) -> [ServerMemory?] {
        ledger.withLock { $0.save(names) }
    }

    /// Notes that servers could not be saved, so they count as changed.
    public func keepUnsaved(_ names: some Collection<ServerName> & Sendable) {
        if ledger.withLock({ $0.keepUnsaved(names) }) { onUnsaved.withLock { $0 }?() }
    }

    /// The newest entries of the log, and its position after the last of them.
    public var entries: (entries: [LogEntry], log: LogMemory) {
        let now = clock()
        return ledger.withLock { ($0.entries, $0.memory(at: now)) }
    }

    // MARK: -

    /// Changes the ledger and performs the effects; returns the revision of the change, or nil if nothing changed.
    @discardableResult
    func change<Failure>(_ body: (inout Ledger, Moment) throws(Failure) -> Effects?) throws(Failure) -> Int? {
        let now = clock()
        return perform(
            ifAny: try ledger.withLock { ledger throws(Failure) in
                guard var effects = try body(&ledger, now) else { return nil }
                if ledger.groups.isDue { ledger.settleGroups(into: &effects, at: now) }
                return effects
            })
    }

    @discardableResult
    private func perform(_ effects: consuming Effects) -> Int {
        if let post = effects.update.take() { post.server.post(post.update, to: bus) }
        if let posts = effects.groupUpdates { for post in posts { post.server.post(post.update, to: bus) } }
        for wake in effects.wakes { wake.reader(wake.urgency) }
        if let expiry = effects.expiry { onExpiry.withLock { $0 }?(expiry) }
        if effects.isFirstUnsaved { onUnsaved.withLock { $0 }?() }
        return effects.revision
    }

    @discardableResult
    private func perform(ifAny effects: consuming Effects?) -> Int? {
        guard let effects else { return nil }
        return perform(effects)
    }

    private func postSelection() { bus.post(name: .didSelectServer, object: self, userInfo: selection) }
}

/// Why the monitor refused a call.
public enum LedgerError: Error, Hashable, Sendable, CustomStringConvertible {
    case noSuchServer(ServerName)
    /// The status of this server does not come from clients.
    case takesNoPosts(ServerName)
    case nothingSelected

    public var description: String {
        switch self {
        case .noSuchServer(let name): "no server named “\(name)”"
        case .takesNoPosts(let name): "clients cannot post the status of \(name)"
        case .nothingSelected: "no server is selected"
        }
    }
}
