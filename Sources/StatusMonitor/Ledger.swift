// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// A notification that a server will post.
struct ServerUpdate {
    let server: Server
    let update: StatusUpdate
}

/// The effects of a change to the ledger, which the monitor performs outside the lock.
struct Effects: ~Copyable {
    /// The revision of the change, or the newest one if nothing changed.
    var revision: Int
    var update: ServerUpdate?
    /// Those of groups that changed because a member did; nil for none, as after nearly each post.
    var groupUpdates: [ServerUpdate]?
    var wakes: [WatchWake] = []
    /// When to check for stale statuses, if that is earlier than scheduled.
    var expiry: Duration?
    /// Whether it is the first change since the last save.
    var isFirstUnsaved = false

    /// These effects, followed by those of a later change.
    consuming func followed(by later: consuming Effects) -> Effects {
        Effects(
            revision: later.revision, update: later.update ?? update, groupUpdates: later.groupUpdates ?? groupUpdates,
            wakes: wakes + later.wakes,
            expiry: later.expiry ?? expiry, isFirstUnsaved: isFirstUnsaved || later.isFirstUnsaved)
    }
}

/// The servers, the selection, the log and its readers; each change gets the next revision.
///
/// A state machine: it returns effects, and does no I/O, reads no clock and takes no lock.
struct Ledger {
    /// The record of one server.
    ///
    /// The members that each post needs come first, because with many servers few records are in the CPU's caches.
    struct Record {
        let server: Server
        var followed = Revisions()
        /// Whether it has changed since it was last saved.
        var isUnsaved = false
        /// The readers of this server alone, listed here so that an event needs no lookup.
        var readers: [Int] = []
        /// The time since boot of its last sign of life, or of its addition.
        var refreshedAt: Duration
        /// The time to live that its program requested, which overrides the configured one.
        var ownTimeToLive: Duration?
        var grace: Grace?
        /// Whether the status stays stale until the next sign of life, even if its time to live was extended.
        var staysStale = false
        /// What its last event showed besides the text.
        var grade: Grade?
        /// The severity of its level, under which ``Ledger/severe`` lists it; 0 for none.
        var severity: Int8 = 0
        /// The groups of which it is a member (``GroupTable``), and how it counts there.
        var groups: [Int] = []
        var share: Group.Share?
        /// What its host last reported; nil for a server of this host.
        var report: ServerReport?
        var state: ServerState
        var definition: ServerDefinition
    }

    /// How bad a server is, and whether its status is current.
    struct Grade: Equatable {
        let level: Level?
        let phase: Phase
        let isStale: Bool

        init(_ state: ServerState) {
            (level, phase, isStale) = (state.status?.level, state.phase, state.isStale)
        }

        /// The severity of the counted level (`ServerState.countedLevel`); 0 for none.
        var severity: Int8 {
            guard let level else { return phase == .failed || isStale ? 3 : 0 }
            return Int8(truncatingIfNeeded: phase == .loaded && !isStale ? level.severity : max(3, level.severity))
        }
    }

    /// The grace period of an overdue server after a restart; kept outside the record, because few servers have one.
    indirect enum Grace {
        /// When the server becomes stale; and the period's length, if the time to live ended while statusd was down.
        case until(Duration, missed: Duration?)
    }

    var epoch: Epoch
    var log: EventLog
    var records = ServerTable()
    var watches = WatchTable()
    var groups = GroupTable()
    /// The other hosts that are followed.
    var hosts = HostTable()
    /// Whether a server may be a member of a group, also of one of an earlier run.
    var hasMembers = true
    /// The readers of servers that do not exist (yet).
    var absentReaders: [ServerName: [Int]] = [:]
    var selected: ServerName?
    /// The last event for readers of the selected server.
    var followed = Revisions()
    /// The last event for readers of all servers.
    var followedOfAll = Revisions()
    /// The servers with each severity from 2 on, so that the worst is found among many.
    var severe = [SortedNames](repeating: SortedNames(), count: 5)
    /// The last events of servers with each severity from 2 on, before or after it (``LogEntry/severity``).
    var followedOfSeverities = [Revisions](repeating: Revisions(), count: 5)
    /// The revision at which a server was last removed.
    var removalRevision = 0
    var unsaved: Unsaved
    /// When the next check for stale statuses is scheduled.
    var nextExpiry: Duration?
    /// When the next check for silent hosts is scheduled.
    var nextHostExpiry: Duration?
    /// The revision at which the selection last moved.
    var selectionRevision = 0

    init(epoch: Epoch, capacities: ClosedRange<Int>, notesUnsaved: Bool = false) {
        self.epoch = epoch
        unsaved = Unsaved(isOn: notesUnsaved)
        log = EventLog(capacities: capacities)
    }

    var cursor: Cursor { Cursor(epoch: epoch, revision: log.latest) }

    // MARK: Reading

    /// At most `limit` servers after `name`, sorted by name.
    func states(after name: ServerName?, limit: Int) -> [ServerState] {
        records.records(after: name, limit: limit).map(\.state)
    }

    func state(of name: ServerName) throws(LedgerError) -> ServerState { try record(of: name).state }

    func record(of name: ServerName) throws(LedgerError) -> Record {
        guard let place = records.place(of: name) else { throw .noSuchServer(name) }
        return records[place]
    }

    func selectedState() throws(LedgerError) -> ServerState {
        guard let selected else { throw .nothingSelected }
        return try state(of: selected)
    }

    func server(named name: ServerName) -> Server? { records[name]?.server }

    var selection: Selection { Selection(revision: selectionRevision, server: selected.flatMap(server(named:))) }

    // MARK: Servers

    /// Adds a server; returns nil if the name is taken.
    ///
    /// Its time to live counts from now.
    mutating func add(_ definition: ServerDefinition, by caller: Caller? = nil, at now: Moment) -> Effects? {
        guard records[definition.name] == nil else { return nil }
        var state = ServerState(
            name: definition.name, description: definition.description, source: definition.source,
            phase: definition.firstPhase, message: definition.failure ?? definition.placeholder,
            isRefreshable: definition.isRefreshable)
        (state.parent, state.group) = (definition.parent, definition.group)
        let place = records.insert(
            Record(
                server: Server(name: definition.name),
                readers: absentReaders.removeValue(forKey: definition.name) ?? [], refreshedAt: now.boot, state: state,
                definition: definition))
        if !groups.isEmpty { joinGroups(at: place) }
        var effects = append(.added, at: place, by: caller)
        effects.expiry = noteExpiry(at: place)
        return effects
    }

    /// Removes a server; if it is selected, clears the selection first, so that readers get an event for this.
    mutating func remove(_ name: ServerName, by caller: Caller? = nil) throws(LedgerError) -> Effects {
        guard let place = records.place(of: name) else { throw .noSuchServer(name) }
        var effects = Effects(revision: log.latest)
        if selected == name, let deselection = try select(nil, by: caller) { effects = deselection }
        effects = effects.followed(by: append(.removed, at: place, by: caller))
        let readers = records[place].readers
        if !readers.isEmpty { absentReaders[name] = readers }
        if records[place].report != nil { hosts.remove(name) }
        records.remove(name)
        return effects
    }

    /// Shows a server as failed, with its last status, until it is redefined.
    mutating func fail(_ name: ServerName, because reason: String, at now: Moment) throws(LedgerError) -> Effects? {
        guard let place = records.place(of: name) else { throw .noSuchServer(name) }
        var definition = records[place].definition
        (definition.failure, definition.takesPosts, definition.isRefreshable) = (reason, false, false)
        return try redefine(definition, isOfNewSource: false, at: now)
    }

    /// Changes a server's definition; returns nil if nothing changes.
    ///
    /// The status stays, unless the source is new. A status that is being loaded again does not count as current until
    /// the load has ended.
    mutating func redefine(
        _ definition: ServerDefinition, isOfNewSource: Bool, at now: Moment
    ) throws(LedgerError) -> Effects? {
        guard let place = records.place(of: definition.name) else { throw .noSuchServer(definition.name) }
        guard isOfNewSource || records[place].definition != definition else { return nil }
        let old = records[place].state
        if isOfNewSource, records[place].report.take() != nil { hosts.remove(definition.name) }
        records[place].redefine(definition, isOfNewSource: isOfNewSource, at: now)
        let expiry = noteExpiry(at: place)
        if records[place].state == old {
            return Effects(revision: log.latest, expiry: expiry, isFirstUnsaved: noteUnsaved(at: place))
        }
        var effects = append(records[place].state.isHow(old) ? .updated : .changed, at: place)
        effects.expiry = expiry
        return effects
    }

    // MARK: Silences

    /// Begins a silence, or changes or ends it; returns nil if nothing changes.
    mutating func silence(_ name: ServerName, _ silence: Silence?, by caller: Caller?) throws(LedgerError) -> Effects? {
        guard let place = records.place(of: name) else { throw .noSuchServer(name) }
        guard records[place].state.silence != silence else { return nil }
        records[place].state.silence = silence
        return append(silence == nil ? .unsilenced : .silenced, at: place, by: caller)
    }

    // MARK: Probing

    /// Appends an entry that only the daemon's own probe reads.
    mutating func appendProbe() -> Effects { append(.alive, at: nil) }

    // MARK: The log

    /// Appends an event of a server, or of none: the daemon's probe, or that nothing is selected any more.
    mutating func append(_ kind: EventKind, at place: Int?, by caller: Caller? = nil) -> Effects {
        let revision = log.latest + 1
        var effects = Effects(revision: revision)
        var entry = LogEntry(revision: revision, kind: kind, caller: caller)
        if let place {
            records[place].state.revision = revision
            if kind != .selected { records[place].followed.note(revision, kind) }
            let grade = Grade(records[place].state)
            let isSameGrade = records[place].grade == grade
            let snapshot = ServerSnapshot(
                records[place].state, changesOnlyText: kind == .changed && isSameGrade)
            entry.severity = records[place].severity
            if !isSameGrade {
                entry.severity = max(grade.severity, entry.severity)
                listSeverity(grade.severity, at: place)
                records[place].grade = grade
            }
            if entry.severity > 1, kind != .selected { followedOfSeverities[Int(entry.severity)].note(revision, kind) }
            if kind == .removed {
                removalRevision = revision
                listSeverity(0, at: place)
            }
            if !snapshot.changesOnlyText, kind != .updated { countMember(at: place, kind) }
            entry.snapshot = snapshot
            entry.isOfSelected = snapshot.state.isSelected && kind != .added && kind != .removed
            if kind == .changed {
                effects.update = ServerUpdate(
                    server: records[place].server, update: StatusUpdate(snapshot: snapshot))
            }
            effects.isFirstUnsaved = noteUnsaved(at: place)
            watches.note(entry, for: records[place].readers, into: &effects.wakes)
        }
        if kind != .alive {
            followedOfAll.note(revision, kind)
            if entry.isForSelected { followed.note(revision, kind) }
        }
        watches.note(entry, into: &effects.wakes)
        log.append(entry)
        // Eight times in each round, so that a reader with room misses nothing even if a turn has many posts.
        if log.endsEighth {
            log.keep(from: watches.oldestUnread(from: log.oldest))
            effects.wakes += watches.overdue()
        }
        return effects
    }

    // MARK: Restarts

    /// The data of the selection and the log to keep over a restart.
    func memory(at now: Moment) -> LogMemory {
        var memory = LogMemory(epoch: epoch, revision: log.latest, notedAt: now)
        (memory.followedOfAll, memory.followed) = (followedOfAll, followed)
        (memory.selected, memory.selectionRevision) = (selected, selectionRevision)
        return memory
    }
}

extension Ledger.Record {
    fileprivate mutating func redefine(_ definition: ServerDefinition, isOfNewSource: Bool, at now: Moment) {
        // A time to live that a program set ends with the source that received it.
        if isOfNewSource { ownTimeToLive = nil }
        if isOfNewSource, definition.failure == nil {
            state.status = nil
        }
        // The time to live of a new source counts from now.
        if isOfNewSource, state.status == nil { refresh(at: now) }
        let old = self.definition
        self.definition = definition
        state.isStale = isStale(at: now)
        state.description = definition.description
        state.parent = definition.parent
        state.source = definition.source
        state.isRefreshable = definition.isRefreshable
        if !definition.isRefreshable { state.isRefreshing = false }
        if isOfNewSource || definition.failure != nil || old.failure != nil {
            let message = state.message
            begin()
            // Keep the message about the grace period.
            if grace != nil, state.status != nil, definition.failure == nil, message != old.failure {
                state.message = message
            }
            explainGrace()
        } else if state.message == old.placeholder {
            state.message = definition.placeholder
        }
    }

    /// Sets the first phase of a server, also after an invalid configuration.
    private mutating func begin() {
        let hasStatus = state.status != nil
        // A server whose status is loaded loads it again.
        state.phase = hasStatus && definition.firstPhase == .empty ? .loaded : definition.firstPhase
        state.message = definition.failure ?? (hasStatus ? nil : definition.placeholder)
        // Nothing from before the restart is left.
        if !hasStatus, definition.failure == nil { state.isRestored = false }
    }
}

extension ServerState {
    /// Whether the state is the same, apart from what the configuration says of the server.
    fileprivate func isHow(_ old: ServerState) -> Bool {
        var state = self
        (state.description, state.source, state.isRefreshable) = (old.description, old.source, old.isRefreshable)
        state.parent = old.parent
        return state == old
    }
}

extension ServerDefinition {
    /// The phase of a server without a status.
    var firstPhase: Phase { failure != nil ? .failed : isRefreshable ? .loading : .empty }
}
