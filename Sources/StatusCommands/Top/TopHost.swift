// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// A server of one of the hosts that `top` shows.
struct TopServer: Hashable {
    /// The host's position in ``TopModel/hosts``.
    var host = 0
    let name: ServerName
}

/// What `top` knows of a host.
struct TopHost {
    /// The name for the title and, if there are several hosts, for the servers.
    var name = ""
    /// The options with which statusctl reaches its daemon.
    var options: [String] = []
    private(set) var board = ServerBoard()
    /// Why the daemon is away; nil while it is not.
    private(set) var absence: String? = TopHost.connecting
    /// When it went away; nil if it has not answered yet.
    private(set) var awaySince: Timestamp?
    private var hasAnswered = false
    /// Whether it does not answer, although it has not disconnected.
    private(set) var isSilent = false
    private static let connecting = "connecting…"

    init(name: String = "", options: [String] = []) { (self.name, self.options) = (name, options) }

    /// `disconnected since 12:03:05`, or that it was never reached; nil while it is there.
    func absenceText(now: Timestamp) -> String? {
        guard let absence else { return nil }
        if let awaySince { return "disconnected since \(TimeText.short(awaySince, now: now))" }
        return absence == Self.connecting ? absence : "not reached yet"
    }

    /// Takes over an event; returns whether the daemon was away until now.
    mutating func apply(_ event: Event) -> Bool {
        board.apply(event)
        return hasReturned()
    }

    mutating func isAway(_ reason: String, isSilent: Bool = false, now: Timestamp) {
        absence = reason
        self.isSilent = isSilent
        if hasAnswered { awaySince = awaySince ?? now }
    }

    /// The daemon has answered; returns whether it was away until now.
    mutating func hasReturned() -> Bool {
        defer { (absence, awaySince, hasAnswered, isSilent) = (nil, nil, true, false) }
        return absence != nil
    }
}

/// A row of `top`'s list.
struct TopRow {
    let id: TopServer
    /// The state to show.
    var server: ServerState
    /// Whether its host is away, so that the state may have changed.
    var isAway = false
    /// The number of groups in which it is.
    var depth = 0
    /// The hidden members of a folded group, and the worst of them.
    var hidden: (count: Int, worst: ServerState)?

    var name: ServerName { id.name }
}
