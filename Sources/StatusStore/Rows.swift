// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusMonitor

/// The columns of a state, which are the same in several tables.
enum StateColumns {
    static let names = """
        description, source, phase, text, level, changed_at, level_changed_at, updated_at, message, stale,
        refreshable, revision, silenced_at, silenced_until, silenced_by, silence_reason,
        measured, member_of, parent
        """

    static func values(of state: ServerState) -> [(any SQLConvertible)?] {
        let status = state.status
        return [
            state.description, state.source, state.phase.rawValue, status?.text.rawValue, status?.level.rawValue,
            status?.changedAt, status?.levelChangedAt, status?.updatedAt, state.message, state.isStale,
            state.isRefreshable, state.revision, state.silence?.since, state.silence?.until, state.silence?.user,
            state.silence?.reason, state.values.isEmpty ? nil : state.values.performanceData,
            state.group?.rawValue, state.parent?.rawValue,
        ]
    }

    /// Reads a state; nil if the row is damaged.
    static func read(_ name: ServerName, from columns: inout Columns) -> ServerState? {
        let description = columns.visibleText()
        let source = columns.visibleText()
        let phase = columns.text().flatMap { Phase(rawValue: $0) }
        let status = Status(from: &columns)
        let message = columns.visibleText()
        let (isStale, isRefreshable, revision) = (columns.flag(), columns.flag(), columns.count())
        let silence = Silence(from: &columns)
        let values = columns.visibleText().map { [MeasuredValue](performanceData: $0) } ?? []
        guard let source, let phase, phase != .loaded || status != nil else { return nil }
        var state = ServerState(
            name: name, description: description, source: source, phase: phase, message: message,
            isRefreshable: isRefreshable)
        (state.status, state.isStale, state.revision, state.silence) = (status, isStale, revision, silence)
        (state.values, state.group, state.parent) = (values, columns.name(), columns.name())
        return state
    }
}

extension Silence {
    fileprivate convenience init?(from columns: inout Columns) {
        let (since, until) = (columns.time(), columns.time())
        let (user, reason) = (columns.user(), columns.visibleText())
        guard let since else { return nil }
        self.init(since: since, until: until, user: user, reason: reason)
    }
}

extension Status {
    fileprivate init?(from columns: inout Columns) {
        let text = columns.text().flatMap { StatusText(fitting: $0) }
        let level = columns.text().flatMap { Level(rawValue: $0) }
        let (changedAt, levelChangedAt, updatedAt) = (columns.time(), columns.time(), columns.time())
        guard let text, let level, let changedAt else { return nil }
        self.init(
            text: text, level: level, changedAt: changedAt, levelChangedAt: levelChangedAt,
            updatedAt: updatedAt ?? changedAt)
    }
}

extension Revisions {
    init(from columns: inout Columns) { self.init(updates: columns.count(), changes: columns.count()) }

    var values: [(any SQLConvertible)?] { [updates, changes] }
}

extension StoredServer {
    static let columns = """
        name, \(StateColumns.names), placeholder, failure, time_to_live, report_interval, takes_posts,
        updates_revision, changes_revision, refreshed_at, grace_end, own_time_to_live, stays_stale,
        guest, subject, streak, time_to_live_user, has_failed
        """
    static let columnCount = 36

    var values: [(any SQLConvertible)?] {
        let definition = memory.definition
        let defined: [(any SQLConvertible)?] = [
            definition.placeholder, definition.failure, definition.timeToLive, definition.interval,
            definition.takesPosts,
        ]
        let times: [(any SQLConvertible)?] = [
            memory.refreshedAt, memory.graceEnd, memory.ownTimeToLive, memory.staysStale,
        ]
        return [name.rawValue] + StateColumns.values(of: memory.state) + defined + memory.followed.values + times
            + [source.isGuest, source.subject, source.streak, source.timeToLiveUser, source.hasFailed]
    }

    /// Reads a server; nil if the row is damaged.
    init?(from columns: inout Columns) {
        guard let name = columns.name(), let state = StateColumns.read(name, from: &columns) else { return nil }
        var definition = ServerDefinition(
            name: name, description: state.description, parent: state.parent, source: state.source,
            isRefreshable: state.isRefreshable)
        definition.placeholder = columns.visibleText() ?? ServerDefinition.defaultPlaceholder
        definition.failure = columns.visibleText()
        definition.timeToLive = columns.duration()
        definition.interval = columns.duration()
        definition.takesPosts = columns.flag()
        let followed = Revisions(from: &columns)
        let refreshedAt = columns.duration() ?? .zero
        let (graceEnd, ownTimeToLive) = (columns.duration(), columns.duration())
        self.init(
            ServerMemory(
                state: state, definition: definition, followed: followed, refreshedAt: refreshedAt,
                graceEnd: graceEnd, ownTimeToLive: ownTimeToLive, staysStale: columns.flag()))
        source.isGuest = columns.flag()
        source.subject = columns.integer()
        source.streak = Int(clamping: columns.integer() ?? 0)
        source.timeToLiveUser = columns.user()
        source.hasFailed = columns.flag()
    }
}

extension LogEntry {
    static let columns = """
        entry_revision, kind, of_selected, selected, refreshing, name, \(StateColumns.names)
        """
    static let columnCount = 25

    var values: [(any SQLConvertible)?] {
        let entry: [(any SQLConvertible)?] = [revision, kind.rawValue, isOfSelected]
        guard let state = snapshot?.state else { return entry }
        return entry + [state.isSelected, state.isRefreshing, state.name.rawValue] + StateColumns.values(of: state)
    }

    /// Reads an entry; nil if the row is damaged.
    init?(from columns: inout Columns) {
        let revision = columns.count()
        guard let kind = columns.text().flatMap({ EventKind(rawValue: $0) }) else { return nil }
        let (isOfSelected, isSelected, isRefreshing) = (columns.flag(), columns.flag(), columns.flag())
        var state = columns.name().flatMap { StateColumns.read($0, from: &columns) }
        state?.isSelected = isSelected
        state?.isRefreshing = isRefreshing
        if state == nil, kind != .alive, kind != .selected { return nil }
        self.init(
            revision: revision, kind: kind, snapshot: state.map { ServerSnapshot($0) }, isOfSelected: isOfSelected)
    }
}

extension LogMemory {
    static let columns = """
        epoch, revision, all_updates, all_changes, selected_updates, selected_changes, selected, selection_revision,
        noted_at, noted_since_boot
        """

    var values: [(any SQLConvertible)?] {
        [epoch.description, revision] + followedOfAll.values + followed.values
            + [selected?.rawValue, selectionRevision, notedAt.wall, notedAt.boot]
    }

    /// Reads the selection and the log; nil if the row is damaged.
    init?(from columns: inout Columns) {
        let epoch = Epoch(columns.text() ?? "")
        guard epoch != .none else { return nil }
        self.init(
            epoch: epoch, revision: columns.count(), notedAt: Moment(wall: Timestamp(milliseconds: 0), boot: .zero))
        followedOfAll = Revisions(from: &columns)
        followed = Revisions(from: &columns)
        selected = columns.name()
        selectionRevision = columns.count()
        guard let wall = columns.time(), let boot = columns.duration() else { return nil }
        notedAt = Moment(wall: wall, boot: boot)
    }
}
