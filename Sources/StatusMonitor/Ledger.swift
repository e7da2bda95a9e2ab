// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// What a change to the ledger has to be followed by, outside its lock.
struct Consequences {
    /// The revision of the change; where nothing changed, the newest one.
    var revision: Int
    /// The notification to post.
    var update: (server: Server, update: StatusUpdate)?
    /// The readers to wake.
    var wakes: [@Sendable () -> Void] = []

    /// What has to follow first this and then `later`.
    func followed(by later: Consequences) -> Consequences {
        Consequences(revision: later.revision, update: later.update ?? update, wakes: wakes + later.wakes)
    }
}

/// The servers, the selection, the log and its readers: one state, in which every change gets the next revision.
///
/// A state machine: it decides and says what has to follow. It does no I/O, reads no clock and takes no lock.
struct Ledger {
    private struct Record {
        let server: Server
        var definition: ServerDefinition
        var state: ServerState
        /// The revision of the last event that readers of changes were told.
        var changeRevision = 0
    }

    let epoch: String
    private var log: EventLog
    private var records: [ServerName: Record] = [:]
    private var watches = WatchTable()
    private(set) var selected: ServerName?
    /// The revision of the last event for followers of the selection: with updates, and without.
    private var followed = (updates: 0, changes: 0)
    /// The revision at which the selection last moved.
    private(set) var selectionRevision = 0

    init(epoch: String, capacity: Int) {
        self.epoch = epoch
        log = EventLog(capacity: capacity)
    }

    var cursor: Cursor { Cursor(epoch: epoch, revision: log.latest) }

    var watchCount: Int { watches.count }

    // MARK: Reading

    var states: [ServerState] { records.values.map(\.state).sorted { $0.name < $1.name } }

    func state(of name: ServerName) throws(MonitorError) -> ServerState {
        guard let record = records[name] else { throw .noSuchServer(name) }
        return record.state
    }

    func selectedState() throws(MonitorError) -> ServerState {
        guard let selected else { throw .nothingSelected }
        return try state(of: selected)
    }

    func server(named name: ServerName) -> Server? { records[name]?.server }

    var selection: Selection { Selection(revision: selectionRevision, server: selected.flatMap(server(named:))) }

    // MARK: Servers

    /// Adds a server; nil where there is one of that name.
    mutating func add(_ definition: ServerDefinition) -> Consequences? {
        guard records[definition.name] == nil else { return nil }
        let state = ServerState(
            name: definition.name, summary: definition.summary, source: definition.source,
            phase: definition.failure == nil ? .empty : .failed, message: definition.failure ?? definition.placeholder)
        records[definition.name] = Record(
            server: Server(name: definition.name), definition: definition, state: state)
        return append(.added, about: definition.name)
    }

    /// Removes a server; where it is the selected one, the selection becomes none first, so that its followers are told.
    mutating func remove(_ name: ServerName) throws(MonitorError) -> Consequences {
        guard records[name] != nil else { throw .noSuchServer(name) }
        let deselection = selected == name ? try select(nil) : nil
        let removal = append(.removed, about: name)
        records[name] = nil
        return deselection?.followed(by: removal) ?? removal
    }

    /// Takes over a server's new definition and keeps its status; nil where it is the same as before.
    mutating func redefine(_ definition: ServerDefinition) throws(MonitorError) -> Consequences? {
        guard let old = records[definition.name] else { throw .noSuchServer(definition.name) }
        guard old.definition != definition else { return nil }
        let before = old.state
        mutate(definition.name) { record in
            record.definition = definition
            record.state.summary = definition.summary
            record.state.source = definition.source
            if let failure = definition.failure {
                record.state.phase = .failed
                record.state.message = failure
            } else if record.state.status == nil {
                record.state.phase = .empty
                record.state.message = definition.placeholder
            } else {
                record.state.phase = .loaded
                record.state.message = nil
            }
        }
        return records[definition.name]?.state == before ? nil : append(.changed, about: definition.name)
    }

    // MARK: Statuses

    /// Takes a status.
    ///
    /// It is a change where text, level or phase become another, else an update.
    mutating func post(
        _ text: StatusText, level: Level, to name: ServerName, at now: Timestamp
    ) throws(MonitorError) -> Consequences {
        guard let index = records.index(forKey: name) else { throw .noSuchServer(name) }
        let isChange = records.values[index].state.take(text, level: level, at: now)
        return append(isChange ? .changed : .updated, at: index)
    }

    /// Notes a sign of life that says nothing new; nil where the server has no status to be kept fresh.
    mutating func touch(_ name: ServerName, at now: Timestamp) throws(MonitorError) -> Consequences? {
        guard let index = records.index(forKey: name) else { throw .noSuchServer(name) }
        guard records.values[index].state.status != nil else { return nil }
        records.values[index].state.status?.updatedAt = now
        return append(.updated, at: index)
    }

    // MARK: Selecting

    /// Moves the selection; nil where it is there already.
    mutating func select(_ name: ServerName?) throws(MonitorError) -> Consequences? {
        if let name, records[name] == nil { throw .noSuchServer(name) }
        guard name != selected else { return nil }
        watches.supersedeSelected()
        let revision = log.latest + 1
        if let selected {
            mutate(selected) { record in
                record.state.isSelected = false
                record.state.revision = revision
            }
        }
        selected = name
        selectionRevision = revision
        guard let name else { return append(LogEntry(revision: revision, kind: .event(.selected))) }
        mutate(name) { $0.state.isSelected = true }
        return append(.selected, about: name)
    }

    // MARK: Probing

    /// Sends an entry through the log that only the daemon's own probe reads.
    mutating func appendProbe() -> Consequences {
        append(LogEntry(revision: log.latest + 1, kind: .probe))
    }

    // MARK: The log

    private mutating func mutate(_ name: ServerName, _ body: (inout Record) -> Void) {
        if let index = records.index(forKey: name) { body(&records.values[index]) }
    }

    private mutating func append(_ kind: EventKind, about name: ServerName) -> Consequences {
        guard let index = records.index(forKey: name) else { preconditionFailure("an event of an unknown server") }
        return append(kind, at: index)
    }

    private mutating func append(
        _ kind: EventKind, at index: Dictionary<ServerName, Record>.Index
    ) -> Consequences {
        let revision = log.latest + 1
        records.values[index].state.revision = revision
        if kind != .updated { records.values[index].changeRevision = revision }
        let record = records.values[index]
        let entry = LogEntry(
            revision: revision, kind: .event(kind), state: record.state,
            isOfSelected: selected == record.state.name && kind != .added && kind != .removed)
        var consequences = append(entry)
        if kind == .changed { consequences.update = (record.server, StatusUpdate(state: record.state)) }
        return consequences
    }

    private mutating func append(_ entry: LogEntry) -> Consequences {
        log.append(entry)
        if case .event(let kind) = entry.kind, kind == .selected || entry.isOfSelected {
            followed.updates = entry.revision
            if kind != .updated { followed.changes = entry.revision }
        }
        return Consequences(revision: entry.revision, wakes: watches.note(entry))
    }
}

// MARK: - Readers

extension Ledger {
    /// Adds a reader.
    ///
    /// It begins with a snapshot, or behind `since` where that is possible.
    mutating func watch(
        _ target: WatchTarget, updates: Bool, since: Cursor?, wake: @escaping @Sendable () -> Void
    ) throws(MonitorError) -> Int {
        if case .server(let name) = target, records[name] == nil { throw .noSuchServer(name) }
        var position = WatchPosition(target: target, wantsUpdates: updates, wake: wake, revision: log.latest)
        if let since {
            resume(&position, behind: since)
        } else {
            position.snapshot = target == .probe ? nil : .beginning
        }
        return watches.insert(position)
    }

    mutating func unwatch(_ id: Int) { watches.remove(id) }

    /// The next event for a reader, as things are now; nil where there is nothing to say.
    mutating func next(_ id: Int) -> Event? {
        guard var position = watches[id] else { return nil }
        defer { watches[id] = position }
        if let gap = takeGap(&position) { return gap }
        if position.snapshot != nil {
            position.snapshot = nil
            position.skipPending()
            position.revision = log.latest
            return snapshot(for: position.target)
        }
        guard position.pending > 0 else { return nil }
        var revision = max(position.revision + 1, log.oldest)
        while !position.wants(log[revision]) { revision += 1 }
        position.revision = revision
        position.pending -= 1
        return event(of: log[revision])
    }

    private func event(of entry: LogEntry) -> Event {
        let cursor = Cursor(epoch: epoch, revision: entry.revision)
        guard case .event(let kind) = entry.kind else { return Event(kind: .alive, cursor: cursor) }
        return Event(kind: kind, cursor: cursor, server: entry.state)
    }

    private func takeGap(_ position: inout WatchPosition) -> Event? {
        let isBroken =
            position.pending > 0
            && (position.isSuperseded || position.snapshot == .afterGap || isOverrun(position))
        guard position.isLost || isBroken else { return nil }
        let missed = position.isLost ? nil : position.pending
        position.skipPending()
        position.snapshot = .afterGap
        // The cursor stays where it was: who loses the connection before the snapshot has to be told of the gap again.
        return Event(kind: .gap, cursor: Cursor(epoch: epoch, revision: position.revision), missed: missed)
    }

    /// Whether the log no longer has all that is pending.
    private func isOverrun(_ position: WatchPosition) -> Bool {
        guard position.revision + 1 < log.oldest else { return false }
        return countOfInterest(to: position, after: log.oldest - 1) < position.pending
    }

    private func countOfInterest(to position: WatchPosition, after revision: Int) -> Int {
        revision < log.latest ? (revision + 1...log.latest).count { position.wants(log[$0]) } : 0
    }

    private func snapshot(for target: WatchTarget) -> Event {
        var event = Event(kind: .snapshot, cursor: cursor)
        switch target {
        case .all: event.servers = states
        case .server(let name): event.server = records[name]?.state
        case .selected: event.server = selected.flatMap { records[$0]?.state }
        case .probe: break
        }
        return event
    }

    /// Places a reader behind a cursor, or has it begin with a gap where what came since is not known any more.
    private func resume(_ position: inout WatchPosition, behind since: Cursor) {
        guard since.epoch == epoch, since.revision >= 0, since.revision <= log.latest else {
            position.isLost = true
            position.revision = 0
            return
        }
        position.revision = since.revision
        guard since.revision < lastRevisionOfInterest(to: position) else { return }
        guard since.revision + 1 >= log.oldest else {
            position.isLost = true
            return
        }
        position.pending = countOfInterest(to: position, after: since.revision)
        position.isSuperseded =
            position.target == .selected && since.revision < selectionRevision
            && (since.revision + 1..<selectionRevision).contains { position.wants(log[$0]) }
    }

    private func lastRevisionOfInterest(to position: WatchPosition) -> Int {
        switch position.target {
        case .all, .probe: log.latest
        case .selected: position.wantsUpdates ? followed.updates : followed.changes
        case .server(let name):
            position.wantsUpdates ? records[name]?.state.revision ?? 0 : records[name]?.changeRevision ?? 0
        }
    }
}

extension ServerState {
    /// Takes a status; returns whether text, level or phase became another by it.
    fileprivate mutating func take(_ text: StatusText, level: Level, at now: Timestamp) -> Bool {
        if phase == .loaded, status?.text == text, status?.level == level, !isStale {
            status?.updatedAt = now
            return false
        }
        let isSame = status?.text == text && status?.level == level
        status = Status(
            text: text, level: level, changedAt: isSame ? status?.changedAt ?? now : now, updatedAt: now)
        phase = .loaded
        message = nil
        isStale = false
        return true
    }
}
