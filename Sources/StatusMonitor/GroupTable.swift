// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusModel

/// The groups, in an order in which each comes after the groups that are its members.
struct GroupTable {
    private var groups: [Group] = []
    private var indices: [ServerName: Int] = [:]
    /// The groups that name a member.
    private var naming: [ServerName: [Int]] = [:]
    private var patterns: [(pattern: String, index: Int)] = []
    /// The groups to settle, the last of which is the first in the order.
    private var due: [Int] = []

    /// Creates a table of groups whose members do not exist yet; groups of a loop are left out.
    init(_ rules: [ServerName: GroupRule] = [:]) {
        // Kahn's algorithm (1962).
        var waiting = rules.mapValues { rule in Set(rule.names.filter { rules[$0] != nil }) }
        var containing: [ServerName: [ServerName]] = [:]
        for (name, members) in waiting { for member in members { containing[member, default: []].append(name) } }
        var ready = waiting.filter(\.value.isEmpty).map(\.key)
        while let name = ready.popLast() {
            if let rule = rules[name] { append(name, rule) }
            for group in containing[name] ?? [] {
                waiting[group]?.remove(name)
                if waiting[group]?.isEmpty == true { ready.append(group) }
            }
        }
        due = Array(groups.indices.reversed())
    }

    private mutating func append(_ name: ServerName, _ rule: GroupRule) {
        let index = groups.count
        groups.append(Group(name, rule))
        indices[name] = index
        for member in Set(rule.names) { naming[member, default: []].append(index) }
        patterns += rule.patterns.map { ($0, index) }
    }

    var isEmpty: Bool { groups.isEmpty }

    /// Whether the status of a group may differ from what its members make of it.
    var isDue: Bool { !due.isEmpty }

    /// The groups of which a server is a member; patterns match no groups.
    func groups(of name: ServerName) -> [Int] {
        let named = naming[name] ?? []
        guard indices[name] == nil, !patterns.isEmpty else { return named }
        return named
            + Set(patterns.filter { fnmatch($0.pattern, name.rawValue, 0) == 0 }.map(\.index)).subtracting(named)
    }

    /// The first of some groups by name.
    func firstName(of indices: [Int]) -> ServerName? { indices.map { groups[$0].name }.min() }

    /// Counts a member that changed, appeared (from nil) or was removed (to nil).
    mutating func count(_ member: ServerName, from old: Group.Share?, to new: Group.Share?, in indices: [Int]) {
        for index in indices {
            groups[index].count(member, from: old, to: new)
            let position = due.firstIndex { $0 <= index } ?? due.endIndex
            if position == due.endIndex || due[position] != index { due.insert(index, at: position) }
        }
    }

    /// Takes the next group to settle: none of its members is to be settled any more.
    mutating func takeDue() -> Group? { due.popLast().map { groups[$0] } }
}
