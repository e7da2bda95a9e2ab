// SPDX-License-Identifier: Apache-2.0

#if Web
import StatusModel

/// The servers that visitors see: all, unless there are too many for a page.
///
/// A hub has 100,000 servers. Of these, the page has those of this host, the hosts, and the worst servers of other
/// hosts that are not ok. Of the others, only the level is kept.
struct ShownServers {
    /// With more servers, not all are shown.
    static let mostServers = 2000
    /// The maximum number of servers of other hosts that are not ok and shown.
    static let mostTroubles = 1000
    /// How many hosts are named of which something has changed unseen.
    static let mostTouchedHosts = 1000

    /// What a change means for what visitors see.
    enum Change: Equatable {
        /// They see it, and these servers no longer.
        case shown(hidden: [ServerName])
        /// They do not see it.
        case unseen
        /// They see others from now on: there are too many servers for a page.
        case others
    }

    /// What is kept of each server.
    private struct Entry {
        let level: Level?
        /// Whether it is shown only if it is not ok: it is a server of another host.
        let isMinor: Bool

        init(_ state: ServerState) {
            (level, isMinor) = (state.countedLevel, state.isOfOtherHost && state.name.host != nil)
        }

        var isTrouble: Bool { level.map { $0 != .ok } ?? false }
    }

    private(set) var states: [ServerName: ServerState] = [:]
    private var entries: [ServerName: Entry] = [:]
    private(set) var counts: [Level?: Int] = [:]
    private var selected: ServerName?
    /// Whether there are too many servers for a page; a new snapshot may end that.
    private(set) var isHub = false
    /// The number of servers of other hosts that are not ok, and those of them that are shown, by level.
    private var troubleCount = 0
    private var troubles: [Level: Set<ServerName>] = [:]
    private var touchedHosts: Set<ServerName> = []

    init() {}

    init(_ states: [ServerState]) {
        for state in states { _ = note(state) }
        touchedHosts = []
    }

    /// The number of all servers.
    var count: Int { entries.count }

    func count(of level: Level?) -> Int { counts[level] ?? 0 }

    /// Whether there is a server of this name, shown or not.
    func contains(_ name: ServerName) -> Bool { entries[name] != nil }

    /// The number of servers of other hosts that are not ok and not shown.
    var unshownCount: Int { troubleCount - troubles.values.reduce(0) { $0 + $1.count } }

    /// The number of servers of each other host.
    var hostServers: [ServerName: Int] {
        var numbers: [ServerName: Int] = [:]
        for (name, entry) in entries where entry.isMinor { if let host = name.host { numbers[host, default: 0] += 1 } }
        return numbers
    }

    // MARK: Changes

    /// Takes the state of a server.
    mutating func note(_ state: ServerState) -> Change {
        let entry = Entry(state)
        count(entries.updateValue(entry, forKey: state.name), by: -1)
        count(entry, by: 1)
        if state.isSelected { selected = state.name }
        if isHub { return choose(state, entry) }
        states[state.name] = state
        guard count > Self.mostServers else { return .shown(hidden: []) }
        becomeHub()
        return .others
    }

    private mutating func count(_ entry: Entry?, by number: Int) {
        guard let entry else { return }
        counts[entry.level, default: 0] += number
        if entry.isMinor, entry.isTrouble { troubleCount += number }
    }

    private mutating func becomeHub() {
        isHub = true
        let all = states
        states = [:]
        for (name, state) in all { if let entry = entries[name] { _ = choose(state, entry) } }
        touchedHosts = []
    }

    /// Shows a server, or not.
    private mutating func choose(_ state: ServerState, _ entry: Entry) -> Change {
        let (name, last) = (state.name, states[state.name]?.countedLevel)
        let wasShown = states[name] != nil, othersWait = unshownCount > 0
        forgetTrouble(name)
        guard entry.isMinor, !state.isSelected else {
            states[name] = state
            return .shown(hidden: [])
        }
        var hidden: [ServerName] = []
        // One that has become better may have to make room for a worse one (``missing(limit:)``).
        if let level = entry.level, level != .ok, !(othersWait && last?.isWorse(than: level) == true),
            makeRoom(for: level, &hidden)
        {
            troubles[level, default: []].insert(name)
            states[name] = state
            return .shown(hidden: hidden)
        }
        touch(name)
        states[name] = nil
        return wasShown ? .shown(hidden: [name]) : .unseen
    }

    /// Hides a server that is better, if there is no room; returns false if there is none.
    private mutating func makeRoom(for level: Level, _ hidden: inout [ServerName]) -> Bool {
        guard troubles.values.reduce(0, { $0 + $1.count }) >= Self.mostTroubles else { return true }
        let better = troubles.filter { !$1.isEmpty && level.isWorse(than: $0) }.keys
        guard let best = better.min(by: { $1.isWorse(than: $0) }), let other = troubles[best]?.popFirst() else {
            return false
        }
        states[other] = nil
        hidden = [other]
        return true
    }

    private mutating func forgetTrouble(_ name: ServerName) {
        guard let level = states[name]?.countedLevel else { return }
        troubles[level]?.remove(name)
    }

    private mutating func touch(_ name: ServerName) {
        if let host = name.host, touchedHosts.count < Self.mostTouchedHosts { touchedHosts.insert(host) }
    }

    mutating func remove(_ name: ServerName) -> Change {
        count(entries.removeValue(forKey: name), by: -1)
        forgetTrouble(name)
        touch(name)
        return states.removeValue(forKey: name) == nil ? .unseen : .shown(hidden: [])
    }

    /// Takes the selected server; nil if none is selected from now on.
    mutating func select(_ state: ServerState?) -> Change {
        var hidden: [ServerName] = []
        if let last = selected, last != state?.name, var old = states[last] {
            old.isSelected = false
            // It was shown because it was selected.
            if case .shown(let names) = note(old) { hidden = names }
        }
        selected = state?.name
        if let state { _ = note(state) }
        return .shown(hidden: hidden.filter { states[$0] == nil })
    }

    // MARK: Room

    /// The worst servers that are not shown although there is room for them.
    func missing(limit: Int) -> [ServerName] {
        let room = min(limit, unshownCount, Self.mostTroubles + unshownCount - troubleCount)
        guard isHub, room > 0 else { return [] }
        var found: [ServerName] = []
        for level in [Level.critical, .unknown, .warning] {
            for (name, entry) in entries where entry.level == level && entry.isMinor && states[name] == nil {
                guard found.count < room else { return found }
                found.append(name)
            }
        }
        return found
    }

    /// Whether a server may be shown that was missing: it has not been removed or shown meanwhile.
    func mayFill(_ name: ServerName) -> Bool { entries[name] != nil && states[name] == nil }

    mutating func takeTouchedHosts() -> [ServerName] {
        defer { touchedHosts = [] }
        return Array(touchedHosts)
    }
}
#endif
