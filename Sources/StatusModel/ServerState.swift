// SPDX-License-Identifier: Apache-2.0

/// The complete state of a server: the `Server` of the control interface.
public struct ServerState: Hashable, Sendable {
    /// The name, which never changes.
    public var name: ServerName
    public var description: String?
    /// The source kind: `push`, `notify` and so on.
    public var source: String
    public var phase: Phase
    /// The last known status, kept during a check and after a failed check.
    public var status: Status?
    /// The reason why the server is empty or failed, or a result that does not count yet.
    public var message: String?
    /// Whether the status is older than the server's time to live.
    public var isStale = false
    /// Whether the state is from before the daemon's last restart, and the source has not reported since.
    public var isRestored = false
    /// Whether a client can request a check.
    public var isRefreshable = false
    /// Whether a requested check is running.
    public var isRefreshing = false
    public var isSelected = false
    /// The revision of the server's last event.
    public var revision = 0
    /// What few servers have; nil for a server that has none of it, so that a copy of its state costs less.
    private var supplement: Supplement?

    public init(
        name: ServerName, description: String? = nil, source: String, phase: Phase, message: String? = nil,
        isRefreshable: Bool = false
    ) {
        self.name = name
        self.description = description
        self.source = source
        self.phase = phase
        self.message = message
        self.isRefreshable = isRefreshable
    }

    /// Until when nobody is told of its problems; nil if people are.
    public var silence: Silence? {
        get { supplement?.parts.silence }
        set { supplement(\.silence, newValue) }
    }

    /// Whether it has any of the following, or a silence.
    public var hasSupplement: Bool { supplement != nil }

    /// The group of which it is a member, the first by name if there are several.
    public var group: ServerName? {
        get { supplement?.parts.group }
        set { supplement(\.group, newValue) }
    }

    /// The server without which this one cannot be reached.
    public var parent: ServerName? {
        get { supplement?.parts.parent }
        set { supplement(\.parent, newValue) }
    }

    /// What the check measured with the last status; empty for a status without numbers.
    public var values: [MeasuredValue] {
        get { supplement?.parts.values ?? [] }
        set { supplement(\.values, newValue) }
    }

    /// The last run of the server's check; only in the reply to `Describe`, so that events stay small.
    public var check: CheckRun? {
        get { supplement?.parts.check }
        set { supplement(\.check, newValue) }
    }

    private mutating func supplement<Value: Equatable>(
        _ part: WritableKeyPath<Supplement.Parts, Value>, _ value: Value
    ) {
        var parts = supplement?.parts ?? Supplement.Parts()
        guard parts[keyPath: part] != value else { return }
        parts[keyPath: part] = value
        supplement = parts == Supplement.Parts() ? nil : Supplement(parts)
    }

    /// The text of the last known status, or the reason why there is none.
    public var headline: String { status?.text.rawValue ?? message ?? phase.rawValue }

    /// The headline with marks: the level unless it is ok, and the reason if the status is not current.
    ///
    /// A status is not current if it is stale, is checked again after a reload, or if the last check failed.
    public var markedHeadline: String {
        var line = headline
        if let level = status?.level, level != .ok { line += " [\(level.rawValue)]" }
        if phase == .failed { line += status == nil ? " [failed]" : " (failed: \(message ?? "unknown"))" }
        if status != nil, phase == .loading { line += " (loading)" }
        if isStale { line += " (stale)" }
        return isRestored ? "\(line) (before restart)" : line
    }

    /// Whether there is a status that is fresh and was not followed by a failed check.
    public var isCurrent: Bool {
        // Not `status != nil`, for which the compiler (6.3) copies the status.
        guard case .some = status else { return false }
        return phase == .loaded && !isStale
    }

    public var isHealthy: Bool { isCurrent && status?.level == .ok }

    /// The level for filters and sums; nil if there is no status yet.
    ///
    /// A status that is not current counts as `unknown`, or as its level if that is worse, so that it does not hide.
    public var countedLevel: Level? {
        guard let level = status?.level else { return phase == .failed || isStale ? .unknown : nil }
        return phase == .loaded && !isStale || level.isWorse(than: .unknown) ? level : .unknown
    }

    /// The severity of the counted level; a server without a status counts as ok.
    public var severity: Int { (countedLevel ?? .ok).severity }
}

/// The parts of a state that few servers have.
private final class Supplement: Sendable, Hashable {
    struct Parts: Sendable, Hashable {
        var silence: Silence?
        var group: ServerName?
        var parent: ServerName?
        var values: [MeasuredValue] = []
        var check: CheckRun?
    }

    let parts: Parts

    init(_ parts: Parts) { self.parts = parts }

    static func == (left: Supplement, right: Supplement) -> Bool { left === right || left.parts == right.parts }

    func hash(into hasher: inout Hasher) { hasher.combine(parts) }
}

/// Whether a server has a status.
public enum Phase: String, Sendable, CaseIterable {
    /// The first check has not ended.
    case loading
    /// The server has a status.
    case loaded
    /// The server has no status.
    case empty
    /// The last check failed.
    case failed
}

/// A server's state at one revision, shared by the event log, its readers and observers.
///
/// It is a class, so that an event needs only one copy of the state for any number of readers.
public final class ServerSnapshot: Sendable, Hashable {
    public let state: ServerState
    /// Whether the event changed nothing but the text; false if that is unknown.
    public let changesOnlyText: Bool

    /// Keeps a copy of `state`.
    public init(_ state: ServerState, changesOnlyText: Bool = false) {
        self.state = state
        self.changesOnlyText = changesOnlyText
    }

    public static func == (left: ServerSnapshot, right: ServerSnapshot) -> Bool {
        left === right || left.state == right.state
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(state) }
}
