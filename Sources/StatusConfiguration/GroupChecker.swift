// SPDX-License-Identifier: Apache-2.0

import Glibc
import SourceKinds
public import StatusModel
import StatusSupport

extension Configuration {
    /// The rules of all valid groups.
    public var groups: [ServerName: GroupRule] {
        servers.compactMapValues { ($0.source?.base as? GroupSettings)?.rule }
    }
}

/// Compares groups with the servers of all files.
struct GroupChecker {
    private(set) var servers: [ServerName: ServerConfiguration]
    private(set) var problems: [Problem] = []
    private var rules: [ServerName: GroupRule] = [:]
    /// The names of the groups, sorted.
    private var names: [ServerName] = []

    /// - Parameter configuration: all servers; those of groups that cannot be followed change.
    init(_ configuration: Configuration) {
        servers = configuration.servers
        rules = configuration.groups
        names = rules.keys.sorted()
    }

    /// Checks all groups.
    ///
    /// - Parameter isComplete: whether no server can exist besides these.
    mutating func check(isComplete: Bool) {
        if rules.isEmpty { return }
        for name in names.dropFirst(GroupRule.maximumCount) {
            fail(name, "only \(GroupRule.maximumCount) groups are allowed; remove some")
        }
        for name in names {
            guard let loop = loop(of: name) else { continue }
            let path = loop.map(\.rawValue).joined(separator: " → ")
            fail(name, "a group must not be a member of itself: \(path); remove one of these members")
        }
        if isComplete { for name in names { warnOfUnknown(in: name) } }
        findRefreshed()
    }

    private mutating func fail(_ name: ServerName, _ reason: String) {
        guard let origin = servers[name]?.origin else { return }
        servers[name]?.source = nil
        servers[name]?.failure = "\(origin): \(reason)"
        problems.append(Problem(.error, at: origin, server: name, reason: reason))
    }

    /// The shortest way from a group by way of its members to itself; nil if there is none.
    private func loop(of name: ServerName) -> [ServerName]? {
        var origins: [ServerName: ServerName] = [:]
        var (level, next) = ([name], [ServerName]())
        while !level.isEmpty {
            for group in level {
                for member in rules[group]?.names ?? [] where rules[member] != nil && origins[member] == nil {
                    origins[member] = group
                    if member == name { return way(to: name, origins) }
                    next.append(member)
                }
            }
            (level, next) = (next, [])
        }
        return nil
    }

    private func way(to name: ServerName, _ origins: [ServerName: ServerName]) -> [ServerName] {
        var way = [name]
        while let origin = way.last.flatMap({ origins[$0] }) {
            way.append(origin)
            if origin == name { break }
        }
        return way.reversed()
    }

    private mutating func warnOfUnknown(in name: ServerName) {
        guard let rule = rules[name], let origin = servers[name]?.origin else { return }
        let all = servers.keys.sorted().map(\.rawValue)
        for member in rule.names where servers[member] == nil {
            let advice = Nearest.suggestion(for: member.rawValue, among: all)
            problems.append(
                Problem(
                    .warning, at: origin, server: name,
                    reason: "“group” names a server that is not configured: \(member)\(advice)"))
        }
        let others = servers.keys.filter { rules[$0] == nil }.map(\.rawValue)
        for pattern in rule.patterns where !others.contains(where: { fnmatch(pattern, $0, 0) == 0 }) {
            problems.append(
                Problem(
                    .warning, at: origin, server: name,
                    reason: "no server is configured that matches “\(pattern)” in “group”"))
        }
    }

    /// Notes the members of each group that can be refreshed, which a group can be if one of its members can.
    private mutating func findRefreshed() {
        let others = servers.filter { rules[$0.key] == nil && $0.value.isRefreshable }.keys
        var (isChange, isFirst) = (true, true)
        while isChange {
            isChange = false
            for name in names where servers[name]?.source != nil {
                guard let rule = rules[name] else { continue }
                var members = Set(rule.names.filter { servers[$0]?.isRefreshable == true })
                if isFirst {
                    members.formUnion(
                        others.filter { other in rule.patterns.contains { fnmatch($0, other.rawValue, 0) == 0 } })
                }
                members.formUnion(servers[name]?.refreshedMembers ?? [])
                guard members.count != servers[name]?.refreshedMembers.count else { continue }
                servers[name]?.refreshedMembers = members.sorted()
                isChange = true
            }
            isFirst = false
        }
    }
}
