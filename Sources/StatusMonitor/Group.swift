// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// A group's count of its members, from which its status follows.
struct Group {
    /// How a member counts.
    enum Standing: CaseIterable {
        case critical, unknown
        /// It is named, but does not exist.
        case missing
        case warning
        /// It has no status yet.
        case pending
        case ok

        init(_ state: ServerState) {
            self =
                switch state.countedLevel {
                case .critical: .critical
                case .unknown: .unknown
                case .warning: .warning
                case .ok: .ok
                case nil: .pending
                }
        }

        /// The level of a bad member; nil for others.
        var badLevel: Level? {
            switch self {
            case .critical: .critical
            case .unknown, .missing: .unknown
            case .warning: .warning
            case .pending, .ok: nil
            }
        }
    }

    /// What a group counts of an existing member.
    struct Share: Equatable {
        let standing: Standing
        let isRestored: Bool

        init(_ state: ServerState) { (standing, isRestored) = (Standing(state), state.isRestored) }
    }

    /// What the members make of the group.
    enum Verdict: Equatable {
        case status(StatusText, Level)
        /// Why it has no status yet.
        case none(String)
    }

    let name: ServerName
    let rule: GroupRule
    private let named: Set<ServerName>
    private var okCount = 0
    private var restoredCount = 0
    /// The members that are not ok, sorted.
    private var others: [Standing: [ServerName]] = [:]

    /// Creates a group none of whose members exists.
    init(_ name: ServerName, _ rule: GroupRule) {
        (self.name, self.rule) = (name, rule)
        named = Set(rule.names)
        if !named.isEmpty { others[.missing] = named.sorted() }
    }

    /// Whether a member is as before a restart.
    var hasRestored: Bool { restoredCount > 0 }

    /// Counts a member that changed, appeared (from nil) or was removed (to nil).
    mutating func count(_ member: ServerName, from old: Share?, to new: Share?) {
        restoredCount += (new?.isRestored == true ? 1 : 0) - (old?.isRestored == true ? 1 : 0)
        let absent = named.contains(member) ? Standing.missing : nil
        let (old, new) = (old?.standing ?? absent, new?.standing ?? absent)
        guard old != new else { return }
        if let old { remove(member, from: old) }
        if let new { add(member, to: new) }
    }

    private mutating func remove(_ member: ServerName, from standing: Standing) {
        if standing == .ok { return okCount -= 1 }
        let position = position(of: member, in: standing)
        if position < count(standing), others[standing]?[position] == member { others[standing]?.remove(at: position) }
    }

    private mutating func add(_ member: ServerName, to standing: Standing) {
        if standing == .ok { return okCount += 1 }
        others[standing, default: []].insert(member, at: position(of: member, in: standing))
    }

    /// The position of a member in its sorted list, by bisection, because there may be thousands.
    private func position(of member: ServerName, in standing: Standing) -> Int {
        guard let names = others[standing] else { return 0 }
        var range = 0..<names.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range = names[middle] < member ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }

    // MARK: The status

    /// The status, or why there is none: it is ok only once all members have a status.
    ///
    /// - Parameter placeholder: what to say of members without a status.
    func verdict(placeholder: String) -> Verdict {
        let bad = Standing.allCases.filter { $0.badLevel != nil && count($0) > 0 }
        if bad.isEmpty, count(.pending) > 0 {
            return .none(
                "\(placeholder): \(list(count(.pending), others[.pending]?.prefix(Self.listed).map(\.rawValue)))")
        }
        guard let text = StatusText(fitting: text(of: bad)) else { return .none(placeholder) }
        return .status(text, level)
    }

    private var size: Int { okCount + others.values.reduce(0) { $0 + $1.count } }

    private func count(_ standing: Standing) -> Int { others[standing]?.count ?? 0 }

    private var level: Level {
        // What is gone is not well.
        if size == 0 { return .unknown }
        let down = count(.critical) + count(.unknown) + count(.missing)
        let worst: Level = count(.critical) > 0 ? .critical : down > 0 ? .unknown : .ok
        let needed =
            switch rule.quorum {
            case nil: 1
            case .all?: size
            case .count(let count)?: count
            }
        if down >= max(1, needed) { return worst }
        return down + count(.warning) > 0 ? .warning : .ok
    }

    /// The maximum number of members in a text.
    private static let listed = 5

    private func text(of bad: [Standing]) -> String {
        let total = bad.reduce(0) { $0 + count($1) }
        if size == 0 {
            return "no server matches \(rule.patterns.map { "“\($0)”" }.joined(separator: ", ")); groups do not count"
        }
        if total == 0 { return "\(size) ok" }
        let levels = Set(bad.compactMap(\.badLevel))
        let common = levels.count == 1 ? levels.first : nil
        var names: [String] = []
        for standing in bad {
            let remark =
                standing == .missing
                ? " (no such server)" : common == nil ? " (\(standing.badLevel?.rawValue ?? ""))" : ""
            names += (others[standing] ?? []).prefix(Self.listed - names.count).map { $0.rawValue + remark }
        }
        return "\(total) of \(size) \(common?.rawValue ?? "not ok"): \(list(total, names))"
    }

    private func list(_ total: Int, _ names: [String]?) -> String {
        let names = names ?? []
        return names.joined(separator: ", ") + (total > names.count ? " and \(total - names.count) more" : "")
    }
}
