// SPDX-License-Identifier: Apache-2.0

import StatusConfiguration
import StatusModel

/// The topics of a host: `statusd/1/HOST/$state`, `…/$claim`, and `…/SERVER` for each server.
enum Topic: Equatable, Sendable {
    /// Whether the host is there.
    case presence(host: String)
    /// A second machine that wants to be this host.
    case claim(host: String)
    case server(host: String, ServerName)

    private static let beginning = "statusd/1/"

    /// Reads a topic; nil if it is none of these.
    init?(_ text: String) {
        guard text.hasPrefix(Self.beginning) else { return nil }
        let parts = text.dropFirst(Self.beginning.utf8.count).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let leaf = parts.last.map(String.init), let host = parts.first.map(String.init),
            MQTTSettings.isHost(host)
        else { return nil }
        switch leaf {
        case "$state": self = .presence(host: host)
        case "$claim": self = .claim(host: host)
        default:
            guard let name = ServerName(leaf) else { return nil }
            self = .server(host: host, name)
        }
    }

    var host: String {
        switch self {
        case .presence(let host), .claim(let host), .server(let host, _): host
        }
    }

    var text: String {
        switch self {
        case .presence(let host): "\(Self.beginning)\(host)/$state"
        case .claim(let host): "\(Self.beginning)\(host)/$claim"
        case .server(let host, let name): "\(Self.beginning)\(host)/\(name)"
        }
    }

    /// The filter for everything of a host, or of all hosts with `+`.
    static func filter(host: String, _ leaf: String = "+") -> String { "\(beginning)\(host)/\(leaf)" }
}
