// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// Holds back for a moment that a host is lost or stopped, because it may be the broker that is, or a restart.
///
/// A broker that is stopped sends the wills of all hosts before it closes the connections. After its return, it may
/// have kept them, and the hosts come back one after the other.
struct LossHold {
    static let shortest = Duration.seconds(2)
    /// How long a broker that is stopped may take from the first will to the end of the connection.
    static let longestEnd = Duration.seconds(1)

    private struct Held {
        var report: FollowReport
        let since: Duration
        let due: Duration
    }

    private var held: [ServerName: Held] = [:]
    /// The hosts that were ready when the daemon was last told of them.
    private(set) var readyHosts: Set<ServerName> = []

    var isEmpty: Bool { held.isEmpty }

    /// Takes a report; returns it if the daemon must be told now.
    ///
    /// - Parameter returnsEnd: until when hosts may come back after an absence of the broker.
    mutating func take(_ report: FollowReport, now: Duration, returnsEnd: Duration) -> FollowReport? {
        guard case .host(let host, let presence, _) = report else { return report }
        if let presence, presence.state != .ready, readyHosts.contains(host) {
            let due = max(now + Self.shortest, returnsEnd)
            held[host, default: Held(report: report, since: now, due: due)].report = report
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
        release(where: { $0.due <= now })
    }

    /// The connection to the broker has ended, which explains the last losses; returns the reports of the others.
    mutating func disconnected(now: Duration) -> [FollowReport] {
        defer { held = [:] }
        return release(where: { held in
            guard case .host(_, let presence?, _) = held.report else { return true }
            return presence.state == .stopped || now - held.since > Self.longestEnd
        })
    }

    private mutating func release(where condition: (Held) -> Bool) -> [FollowReport] {
        let released = held.filter { condition($0.value) }.sorted { $0.key < $1.key }
        for (host, _) in released {
            held[host] = nil
            readyHosts.remove(host)
        }
        return released.map(\.value.report)
    }
}
