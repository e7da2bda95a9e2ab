// SPDX-License-Identifier: Apache-2.0

import StatusInterface
import StatusModel
import StatusSupport
import Varlink

/// All servers of a host in one line.
struct ServerCounts {
    /// The number of servers that a line names for each level.
    private static let mostNames = 3
    private static let levels: [(word: String, level: Level?)] = [
        ("critical", .critical), ("unknown", .unknown), ("warning", .warning), ("without a status", nil), ("ok", .ok),
    ]

    private let servers: [ServerState]
    /// The servers that are not ok, the worst first.
    let problems: [ServerState]
    /// What the daemon says about itself, such as that its configuration has errors, so that servers may be missing.
    private let notices: [String]

    /// Whether there are servers, and all of them, and the daemon, are well.
    var areWell: Bool { !servers.isEmpty && problems.isEmpty && notices.isEmpty }

    init(_ servers: [ServerState], notices: [String] = []) {
        (self.servers, self.notices) = (servers, notices)
        problems = Self.levels.filter { $0.level != .ok }.flatMap { _, level in
            servers.filter { $0.countedLevel == level }
        }
    }

    /// `19 servers: 1 critical (disk), 18 ok`.
    func line(_ style: Style) -> String {
        let parts = Self.levels.compactMap { word, level -> String? in
            let those = servers.filter { $0.countedLevel == level }
            guard !those.isEmpty else { return nil }
            let count = style.level("\(those.count) \(word)", level)
            return level == .ok ? count : "\(count) (\(Self.names(of: those)))"
        }
        return "\(servers.count) server\(servers.count == 1 ? "" : "s"): \(parts.joined(separator: ", "))"
    }

    private static func names(of servers: [ServerState]) -> String {
        let names = servers.prefix(mostNames).map(\.name.rawValue).joined(separator: ", ")
        return servers.count > mostNames ? "\(names) and \(servers.count - mostNames) more" : names
    }
}

extension ServerCounts: JSONWritable {
    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("count", servers.count)
            func count(_ level: Level?) -> Int { servers.count { $0.countedLevel == level } }
            writer.member("ok", count(.ok))
            writer.member("warning", count(.warning))
            writer.member("critical", count(.critical))
            writer.member("unknown", count(.unknown))
            writer.member("none", count(nil))
            writer.member("problems", problems)
            if !notices.isEmpty { writer.member("notices", notices) }
        }
    }
}
