// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// Puts the members of groups below them.
struct TopGroups {
    /// Groups within groups are shown up to this depth, whatever a daemon says.
    private static let deepest = 8

    private let rows: [TopRow]
    private let folded: Set<TopServer>
    /// The positions of the members of each group.
    private var members: [TopServer: [Int]] = [:]
    /// The positions of the rows that are in no group.
    private var roots: [Int] = []

    /// - Parameters:
    ///   - rows: all rows, in order.
    ///   - folded: the groups whose members are hidden.
    init(_ rows: [TopRow], folded: Set<TopServer>) {
        (self.rows, self.folded) = (rows, folded)
        let groups = Set(rows.lazy.filter { $0.server.source == Self.kind }.map(\.id))
        for (position, row) in rows.enumerated() {
            let group = row.server.group.map { TopServer(host: row.id.host, name: $0) }
            if let group, groups.contains(group), group != row.id {
                members[group, default: []].append(position)
            } else {
                roots.append(position)
            }
        }
    }

    /// The source kind of groups.
    static let kind = "group"

    /// The rows that are shown.
    ///
    /// - Parameter weight: a root comes where the heaviest of its members would; nil if it keeps its place.
    func arranged(by weight: ((TopRow) -> Int64)?) -> [TopRow] {
        var roots = roots
        if let weight {
            let weights = roots.map { root in ([root] + inner(root)).map { weight(rows[$0]) }.max() ?? 0 }
            roots = roots.indices.sorted { (-weights[$0], $0) < (-weights[$1], $1) }.map { roots[$0] }
        }
        // Groups that contain each other, of which the daemon should have none, are not lost.
        let reached = Set(roots.flatMap { [$0] + inner($0) })
        return roots.flatMap { shown($0, depth: 0) } + rows.indices.filter { !reached.contains($0) }.map { rows[$0] }
    }

    private func shown(_ position: Int, depth: Int) -> [TopRow] {
        var row = rows[position]
        row.depth = depth
        guard let members = members[row.id], depth < Self.deepest else { return [row] }
        guard folded.contains(row.id) else { return [row] + members.flatMap { shown($0, depth: depth + 1) } }
        let hidden = inner(position).map { rows[$0].server }
        row.hidden = hidden.max { $0.severity < $1.severity }.map { (hidden.count, $0) }
        return [row]
    }

    /// The members of a group, and their members.
    private func inner(_ position: Int, depth: Int = 0) -> [Int] {
        guard depth < Self.deepest else { return [] }
        return (members[rows[position].id] ?? []).flatMap { [$0] + inner($0, depth: depth + 1) }
    }
}
