// SPDX-License-Identifier: Apache-2.0

import StatusConfiguration
import StatusInterface
import StatusModel
import Varlink

/// What a message says of another host, for the daemon.
enum FollowReport: Equatable, Sendable {
    /// A host; without a presence, it is gone.
    case host(ServerName, Presence?, clockDifference: Int?)
    /// A server; without a state, its host does not have it any more.
    case server(host: ServerName, ServerName, epoch: Int, ServerState?)

    var host: ServerName {
        switch self {
        case .host(let host, _, _), .server(let host, _, _, _): host
        }
    }
}

/// Reads the messages of other hosts, and decides which of them are for the daemon.
///
/// Whoever may write at the broker may have sent them, so names, sizes and rates have limits. Whether a report is newer
/// than what is known, the daemon decides.
struct FollowReader {
    enum Outcome: Equatable {
        case report(FollowReport)
        /// Nothing that is followed.
        case ignored
        /// The message is dropped; the reason is a sentence about the host.
        case refused(host: String, reason: String)
        /// The host sends too much; it must be read again later.
        case limited(host: String)
    }

    static let longestState = 32 * 1024
    /// More hosts than a hub can have.
    static let mostHosts = 65_536

    private let patterns: [FollowPattern]
    /// This host, whose messages are no news.
    private let own: String
    private var buckets: [String: TokenBucket] = [:]
    /// When the hosts that were quiet may be forgotten again, to make room for others.
    private var forgetAgainAt = Duration.zero
    /// The hosts that sent too much, and when they were last read again.
    private var limited: [String: Duration] = [:]

    init(_ patterns: [FollowPattern], own: String) { (self.patterns, self.own) = (patterns, own) }

    /// The filters to subscribe to; hosts come before their servers.
    static func filters(for patterns: [FollowPattern]) -> [String] {
        var (presences, servers): ([String], [String]) = ([], [])
        for pattern in patterns {
            let host = isLiteral(pattern.host) ? pattern.host : "+"
            presences.append(Topic.filter(host: host, "$state"))
            servers.append(Topic.filter(host: host, isLiteral(pattern.server) ? pattern.server : "+"))
        }
        // A filter for all hosts contains the others.
        return unique(presences, all: Topic.filter(host: "+", "$state"))
            + unique(servers, all: Topic.filter(host: "+"))
    }

    private static func unique(_ filters: [String], all: String) -> [String] {
        filters.contains(all) ? [all] : Set(filters).sorted()
    }

    private static func isLiteral(_ pattern: String) -> Bool { !pattern.utf8.contains { "*?[]\\".utf8.contains($0) } }

    /// Reads a message.
    ///
    /// - Parameters:
    ///   - now: the time of a clock that does not jump.
    ///   - wall: the time of the wall clock.
    mutating func read(_ message: IncomingMessage, _ topic: Topic, now: Duration, wall: Timestamp) -> Outcome {
        switch topic {
        case .claim: return .ignored
        case .presence(let host):
            guard host != own, let name = ServerName(host), patterns.contains(where: { $0.matches(host: host) })
            else { return .ignored }
            if let outcome = limit(host, now) { return outcome }
            return readPresence(message, name, wall)
        case .server(let host, let server):
            guard host != own, let name = ServerName(host),
                patterns.contains(where: { $0.matches(server: server.rawValue, host: host) })
            else { return .ignored }
            if let outcome = limit(host, now) { return outcome }
            return readServer(message, server, of: name, wall)
        }
    }

    /// The hosts that sent too much and are quiet enough now, so that they may be read again.
    mutating func takeRecovered(now: Duration) -> [String] {
        var recovered: [String] = []
        for (host, since) in limited where now - since >= Self.pause {
            guard buckets[host]?.isHalfFull(now: now) != false else { continue }
            recovered.append(host)
        }
        for host in recovered { limited[host] = nil }
        return recovered.sorted()
    }

    var hasLimited: Bool { !limited.isEmpty }

    private static let pause = Duration.seconds(10)

    private mutating func limit(_ host: String, _ now: Duration) -> Outcome? {
        if buckets.count >= Self.mostHosts, buckets[host] == nil { forgetQuietHosts(now) }
        guard buckets[host] != nil || buckets.count < Self.mostHosts else {
            return .refused(host: host, reason: "there are more than \(Self.mostHosts) hosts at the broker")
        }
        guard buckets[host, default: TokenBucket(now: now)].take(now: now) else {
            limited[host] = now
            return .limited(host: host)
        }
        return nil
    }

    private mutating func forgetQuietHosts(_ now: Duration) {
        guard now >= forgetAgainAt else { return }
        forgetAgainAt = now + .seconds(1)
        buckets = buckets.filter { !$0.value.isFull(now: now) }
    }

    private func readPresence(_ message: IncomingMessage, _ host: ServerName, _ wall: Timestamp) -> Outcome {
        if message.payload.isEmpty { return .report(.host(host, nil, clockDifference: nil)) }
        guard let presence = Presence.read(message.payload, at: wall) else {
            return .refused(host: host.rawValue, reason: "its $state is invalid, or longer than 4 KiB")
        }
        // What the broker kept may be of any age.
        let isLive = !message.isRetained && presence.state == .ready
        let difference = isLive ? presence.at.map { Int(clamping: $0.milliseconds - wall.milliseconds) } : nil
        return .report(.host(host, presence, clockDifference: difference))
    }

    private func readServer(
        _ message: IncomingMessage, _ name: ServerName, of host: ServerName, _ wall: Timestamp
    ) -> Outcome {
        if message.payload.isEmpty { return .report(.server(host: host, name, epoch: 0, nil)) }
        guard message.payload.count <= Self.longestState else {
            return .refused(host: host.rawValue, reason: "\(name) is longer than 32 KiB")
        }
        guard let version = StateVersion.read(message.payload, at: wall), let state = Self.state(message.payload),
            state.name == name
        else { return .refused(host: host.rawValue, reason: "\(name) is no status of a server") }
        guard ServerName(name, on: host) != nil else {
            return .refused(host: host.rawValue, reason: "\(name)@\(host) is longer than 64 bytes")
        }
        return .report(.server(host: host, name, epoch: version.epoch, state))
    }

    private static func state(_ payload: [UInt8]) -> ServerState? {
        try? JSONReader.read(payload) { reader throws(JSONError) in try ServerState(from: &reader) }
    }
}
