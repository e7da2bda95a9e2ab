// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// The order of `top`'s list: the members of a group are below it, whatever kind of server it is.
///
/// A hub has 100,000 servers, of which 100 change each second. So the list is kept in order, and only what has changed
/// is arranged again: a group as a whole, with all its members. States are not kept here.
struct TopList {
    /// Groups within groups are shown up to this depth, whatever a daemon says; deeper servers stand alone.
    private static let deepest = 8
    /// With more servers than this, the members of a group begin hidden, unless one of them is worse than the group.
    private static let mostUnfolded = 500

    /// How servers are sorted; servers that are equal in this are sorted by name.
    enum Order {
        case severity, name, age
    }

    /// What the order needs to know of a server.
    struct Node {
        fileprivate let group: ServerName?
        fileprivate let level: Level?
        fileprivate let levelChangedAt: Int64
        fileprivate let isRefreshing: Bool
        /// The length of the text in the list, in bytes.
        fileprivate let textWidth: Int
        /// The word for its level; nil unless it is trouble.
        fileprivate let word: String?
        /// Whether the filter lets it through.
        fileprivate var matches: Bool

        var severity: Int { (level ?? .ok).severity }

        init(_ state: ServerState, matches: Bool) {
            (group, level, isRefreshing) = (state.group, state.countedLevel, state.isRefreshing)
            word = level == .ok ? nil : ServerText.levelWord(state)
            levelChangedAt = state.status?.levelChangedAt.milliseconds ?? -.max
            (textWidth, self.matches) = (ServerText.tableText(state).utf8.count, matches)
        }

        fileprivate func key(_ order: Order) -> Int64 {
            switch order {
            case .severity: level.map { Int64($0.severity) } ?? 0
            case .name: 0
            case .age: levelChangedAt
            }
        }
    }

    /// A row, and the number of groups in which its server is.
    struct Place {
        let id: TopServer
        let severity: Int
        var depth = 0
        /// The hidden members of a folded group, and the worst of them.
        var hidden: (count: Int, worst: TopServer, severity: Int)?

        var name: ServerName { id.name }

        /// The severity of the server, or of the worst hidden member.
        var worstSeverity: Int { max(severity, hidden?.severity ?? 0) }
    }

    /// A server that is in no group, with its members and theirs.
    private struct Root {
        let id: TopServer
        let places: [Place]
        let weight: Int64
        let widths: ServerListing.SteadyWidths

        static func precedes(_ left: Root, _ right: Root) -> Bool {
            left.weight != right.weight ? left.weight > right.weight : left.id < right.id
        }
    }

    var order = Order.severity { didSet { allChanged = true } }
    /// The names of the hosts, if there are several: they are shown behind those of the servers.
    private let hostNames: [String]
    /// With a filter, there are no groups.
    private var isFiltered = false
    private var nodes: [TopServer: Node] = [:]
    private var members: [TopServer: Set<TopServer>] = [:]
    private var roots: [Root] = []
    /// The servers with which a root may begin, or may have begun.
    private var changed: Set<TopServer> = []
    private var allChanged = false
    /// The groups that the user has folded, or unfolded.
    private var choices: [TopServer: Bool] = [:]
    private var counts: [Level: Int] = [:]
    private(set) var refreshingCount = 0

    /// The rows when ``arrange()`` was last called, and the widths that they need at most.
    private(set) var places: [Place] = []
    private(set) var widths = ServerListing.SteadyWidths()
    /// The server on which the user's bar is: its group is not folded under it.
    var current: TopServer? {
        didSet { if current != oldValue { for id in [oldValue, current] { if let id { mark(id) } } } }
    }

    init(hostNames: [String] = []) { self.hostNames = hostNames }

    /// The number of all servers, shown or not.
    var count: Int { nodes.count }

    /// The number of all servers of a level.
    func count(of level: Level) -> Int { counts[level] ?? 0 }

    // MARK: Changes

    /// Forgets all servers, and keeps what the user has chosen.
    mutating func removeAll() { (nodes, members, counts, refreshingCount, allChanged) = ([:], [:], [:], 0, true) }

    /// Notes a server; nil if it was removed.
    mutating func note(_ id: TopServer, _ new: Node?) {
        let (old, wereMany) = (nodes[id], areMany)
        mark(id)
        count(old, by: -1)
        count(new, by: 1)
        if old?.group != new?.group || (old == nil) != (new == nil) {
            // Its members have another root from now on.
            if !allChanged { changed.formUnion(family(of: id)) }
            if let group = old?.group { members[id.sibling(group)]?.remove(id) }
            if let group = new?.group, group != id.name { members[id.sibling(group), default: []].insert(id) }
        }
        nodes[id] = new
        mark(id)
        if areMany != wereMany { allChanged = true }
    }

    /// Shows only the servers that match; nil for all.
    mutating func filter(_ matches: ((TopServer) -> Bool)?) {
        (isFiltered, allChanged) = (matches != nil, true)
        for index in nodes.indices { nodes.values[index].matches = matches?(nodes.keys[index]) ?? true }
    }

    private var areMany: Bool { nodes.count > Self.mostUnfolded }

    private mutating func count(_ node: Node?, by number: Int) {
        guard let node else { return }
        if let level = node.level { counts[level, default: 0] += number }
        if node.isRefreshing { refreshingCount += number }
    }

    private mutating func mark(_ id: TopServer) {
        if allChanged { return }
        changed.insert(id)
        changed.insert(root(of: id))
    }

    /// Folds or unfolds a group, or the group of a member; returns the group, or nil if there is none.
    mutating func fold(_ id: TopServer) -> TopServer? {
        guard let group = members[id]?.isEmpty == false ? id : group(of: id) else { return nil }
        choices[group] = !places.contains { $0.id == group && $0.hidden != nil }
        mark(group)
        return group
    }

    // MARK: Groups

    /// The group in which a server is shown; nil if there is none.
    private func group(of id: TopServer) -> TopServer? {
        guard let group = nodes[id]?.group.map({ id.sibling($0) }), group != id, nodes[group] != nil else { return nil }
        return group
    }

    /// The outermost group of a server; the server itself if it is in none, or in groups that contain each other.
    private func root(of id: TopServer) -> TopServer {
        if isFiltered { return id }
        var root = id
        for _ in 0...Self.deepest {
            guard let group = group(of: root) else { return root }
            root = group
        }
        return id
    }

    /// The members of a group, and their members.
    private func family(of id: TopServer) -> Set<TopServer> {
        var (found, next): (Set<TopServer>, [TopServer]) = ([], [id])
        while let group = next.popLast() {
            for member in members[group] ?? [] where found.insert(member).inserted { next.append(member) }
        }
        return found
    }

    // MARK: Texts

    /// The name with its indentation; `web (+3)` is a group with three hidden members.
    func label(of place: Place) -> String {
        let name = hostNames.isEmpty ? place.name.rawValue : "\(place.name)@\(hostNames[place.id.host])"
        if place.depth == 0, place.hidden == nil { return name }
        return String(repeating: "  ", count: place.depth) + name + (place.hidden.map { " (+\($0.count))" } ?? "")
    }

    /// What follows the status: a hidden member that is worse than its group.
    func note(of place: Place) -> String {
        guard let hidden = place.hidden, hidden.severity > place.severity, let word = nodes[hidden.worst]?.word else {
            return ""
        }
        return " (\(word): \(hidden.worst.name))"
    }

    // MARK: Order

    /// Arranges what has changed.
    mutating func arrange() {
        if allChanged {
            roots = nodes.compactMap { makeRoot($0, $1) }.sorted(by: Root.precedes)
        } else if !changed.isEmpty {
            let fresh = changed.compactMap { id in nodes[id].flatMap { makeRoot(id, $0) } }.sorted(by: Root.precedes)
            roots = Self.merged(roots.filter { !changed.contains($0.id) }, fresh)
        } else {
            return
        }
        (changed, allChanged) = ([], false)
        places = roots.flatMap(\.places)
        widths = roots.reduce(ServerListing.SteadyWidths()) { $0.union($1.widths) }
    }

    private static func merged(_ left: [Root], _ right: [Root]) -> [Root] {
        var (merged, rest) = ([Root](), left[...])
        merged.reserveCapacity(left.count + right.count)
        for root in right {
            // Few roots are new, so their places are searched for.
            var (low, high) = (rest.startIndex, rest.endIndex)
            while low < high {
                let middle = (low + high) / 2
                if Root.precedes(rest[middle], root) { low = middle + 1 } else { high = middle }
            }
            merged += rest[..<low]
            merged.append(root)
            rest = rest[low...]
        }
        return merged + rest
    }

    /// Makes the root that begins with a server; nil if none does.
    private func makeRoot(_ id: TopServer, _ node: Node) -> Root? {
        guard node.matches else { return nil }
        let outer = isFiltered ? nil : group(of: id)
        if outer != nil, root(of: id) != id { return nil }
        // In groups that contain each other, each server is shown alone.
        let isAlone = isFiltered || outer != nil
        let member = Member(id, node, isAlone ? [] : inner(id, depth: 1), node.key(order))
        var places: [Place] = []
        show(member, depth: 0, &places)
        var widths = ServerListing.SteadyWidths()
        for place in places {
            let (name, note) = (label(of: place), note(of: place))
            widths.include(name: name.utf8.count, text: (nodes[place.id]?.textWidth ?? 0) + note.utf8.count)
        }
        return Root(id: id, places: places, weight: order == .severity ? member.largestKey : member.key, widths: widths)
    }

    /// A server with its members.
    private struct Member {
        let id: TopServer
        let severity: Int
        let members: [Member]
        let key: Int64
        /// The largest key of it, its members, and their members.
        let largestKey: Int64
        /// The number of its members and of theirs, and the worst of them, the first by name.
        let count: Int
        let worst: (id: TopServer, severity: Int)?

        init(_ id: TopServer, _ node: Node, _ members: [Member], _ key: Int64) {
            (self.id, severity, self.members, self.key) = (id, node.severity, members, key)
            var (largestKey, count, worst): (Int64, Int, (id: TopServer, severity: Int)?) = (key, 0, nil)
            for member in members {
                largestKey = max(largestKey, member.largestKey)
                count += 1 + member.count
                for other in [(member.id, member.severity), member.worst] {
                    guard let other, let last = worst else {
                        worst = worst ?? other
                        continue
                    }
                    if other.1 != last.severity ? other.1 > last.severity : other.0 < last.id { worst = other }
                }
            }
            (self.largestKey, self.count, self.worst) = (largestKey, count, worst)
        }

        func contains(_ id: TopServer) -> Bool { members.contains { $0.id == id || $0.contains(id) } }
    }

    private func inner(_ group: TopServer, depth: Int) -> [Member] {
        guard depth <= Self.deepest, let ids = members[group] else { return [] }
        return ids.compactMap { id in
            nodes[id].map { Member(id, $0, inner(id, depth: depth + 1), $0.key(order)) }
        }
    }

    /// Adds the rows of a server: with its members in order, or as a folded group.
    private func show(_ member: Member, depth: Int, _ places: inout [Place]) {
        var place = Place(id: member.id, severity: member.severity, depth: depth)
        if let worst = member.worst, isFolded(member, worst.severity) {
            place.hidden = (member.count, worst.id, worst.severity)
            return places.append(place)
        }
        places.append(place)
        let sorted = member.members.sorted { $0.key != $1.key ? $0.key > $1.key : $0.id < $1.id }
        for member in sorted { show(member, depth: depth + 1, &places) }
    }

    private func isFolded(_ group: Member, _ worst: Int) -> Bool {
        if let choice = choices[group.id] { return choice }
        return areMany && worst <= group.severity && current.map { !group.contains($0) } ?? true
    }
}
