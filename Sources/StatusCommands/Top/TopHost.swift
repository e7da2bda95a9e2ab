// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// A server of one of the hosts that `top` shows.
struct TopServer: Hashable {
    /// The host's position in ``TopModel/hosts``.
    var host = 0
    let name: ServerName

    /// Another server of the same host.
    func sibling(_ name: ServerName) -> TopServer { TopServer(host: host, name: name) }

    static func < (left: TopServer, right: TopServer) -> Bool {
        left.name != right.name ? left.name < right.name : left.host < right.host
    }
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

    /// Takes over an event; returns the servers that it has changed, or nil if it may be all of them.
    mutating func apply(_ event: Event) -> [ServerName]? { board.apply(event) }

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
