// SPDX-License-Identifier: Apache-2.0

/// The complete state of a server: the `Server` of the control interface.
public struct ServerState: Hashable, Sendable {
    /// Its name, which never changes.
    public var name: ServerName
    /// Its description in the configuration.
    public var description: String?
    /// Its source kind: `push`, `notify` and so on.
    public var source: String
    /// Whether it has a status, and why not.
    public var phase: Phase
    /// The last known status, kept while a new one is loaded and after a failed load.
    public var status: Status?
    /// Why the server is empty or failed; otherwise a result that does not count yet.
    public var message: String?
    /// Whether the status is older than the server's time to live.
    public var isStale = false
    /// Whether it is from before the daemon's last restart, and the server's source has not spoken since.
    public var isRestored = false
    /// Whether a load can be requested.
    public var isRefreshable = false
    /// Whether a requested load is running.
    public var isRefreshing = false
    /// Whether it is the selected server.
    public var isSelected = false
    /// The revision of its last event.
    public var revision = 0

    /// A server without a status.
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

    /// The text of the last known status, or why there is none.
    public var headline: String { status?.text.rawValue ?? message ?? phase.rawValue }

    /// The headline with a level that is not ok, or `[failed]` without a status, and with the reason if the status is
    /// not current.
    ///
    /// It is not current if it is stale, is being loaded again after a reload, or a load failed after it.
    public var markedHeadline: String {
        var line = headline
        if let level = status?.level, level != .ok { line += " [\(level.rawValue)]" }
        if phase == .failed { line += status == nil ? " [failed]" : " (failed: \(message ?? "unknown"))" }
        if status != nil, phase == .loading { line += " (loading)" }
        if isStale { line += " (stale)" }
        return isRestored ? "\(line) (before restart)" : line
    }

    /// Whether its status is current: fresh, and without a failed load after it.
    public var isCurrent: Bool { status != nil && phase == .loaded && !isStale }

    /// Whether its status is current and ok.
    public var isHealthy: Bool { isCurrent && status?.level == .ok }
}
