// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// Holds back for a moment that a host is lost or stopped, because it may be the broker that is, or a restart.
///
/// A broker that is stopped sends the wills of all hosts before it closes the connections. After its return, it may
/// have kept them, and the hosts come back one after the other.
struct LossHold {
    /// How long the broker may take to close the connection after the first will.
    static let shortest = Duration.seconds(2)

    private var held: [ServerName: (report: FollowReport, due: Duration)] = [:]
    /// The hosts that were ready when the daemon was last told of them.
    private(set) var readyHosts: Set<ServerName> = []

    var isEmpty: Bool { held.isEmpty }

    /// Takes a report; returns it if the daemon must be told now.
    ///
    /// - Parameter returnsEnd: until when hosts may come back after an absence of the broker.
    mutating func take(_ report: FollowReport, now: Duration, returnsEnd: Duration) -> FollowReport? {
        guard case .host(let host, let presence, _) = report else { return report }
        if let presence, presence.state != .ready, readyHosts.contains(host) {
            held[host] = (report, held[host]?.due ?? max(now + Self.shortest, returnsEnd))
            return nil
        }
        held[host] = nil
        if presence?.state != .ready {
            readyHosts.remove(host)
        } else if readyHosts.count < FollowReader.mostHosts {
            readyHosts.insert(host)
        }
        return report
    }

    /// The reports of hosts that have not come back.
    mutating func takeDue(now: Duration) -> [FollowReport] {
        let due = held.filter { $0.value.due <= now }.sorted { $0.key < $1.key }
        for (host, _) in due {
            held[host] = nil
            readyHosts.remove(host)
        }
        return due.map(\.value.report)
    }

    /// The connection to the broker has ended, which explains the losses.
    mutating func disconnected() { held = [:] }
}
