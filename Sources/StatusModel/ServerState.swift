// SPDX-License-Identifier: Apache-2.0

/// All there is to know about a server at one moment: the `Server` of the control interface.
public struct ServerState: Hashable, Sendable {
    /// Its name, which never changes.
    public var name: ServerName
    /// What its configuration says about it, for people.
    public var description: String?
    /// Where its statuses come from: `push`, `notify` and so on.
    public var source: String
    /// Where it stands with what it has to show.
    public var phase: Phase
    /// The last known status, kept while it loads again and after a load failed.
    public var status: Status?
    /// Why the server is empty or failed; where it is neither, what its last load found that does not count yet.
    public var message: String?
    /// Whether the status is older than the server's time to live.
    public var isStale = false
    /// Whether a load can be asked for.
    public var isRefreshable = false
    /// Whether a load runs that somebody asked for.
    public var isRefreshing = false
    /// Whether it is the selected server.
    public var isSelected = false
    /// The revision of the event that last touched it.
    public var revision = 0

    /// A server that has shown nothing yet.
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

    /// The one line to show for it: the last known status, else why there is none.
    public var headline: String { status?.text.rawValue ?? message ?? phase.rawValue }

    /// The headline with what else there is to know at a glance: a level that is not ok, and whether it is of the past, because the status is
    /// stale, is being loaded anew after a reload, or the load after it failed.
    public var markedHeadline: String {
        var line = headline
        if let level = status?.level, level != .ok { line += " [\(level.rawValue)]" }
        if status != nil, phase == .failed { line += " (failed: \(message ?? "unknown"))" }
        if status != nil, phase == .loading { line += " (loading)" }
        return isStale ? "\(line) (stale)" : line
    }

    /// Whether what it shows is of now: it has a status, which is fresh, and its last load did not fail.
    public var isCurrent: Bool { status != nil && phase == .loaded && !isStale }

    /// Whether all is well: what it shows is of now, and ok.
    public var isHealthy: Bool { isCurrent && status?.level == .ok }
}
