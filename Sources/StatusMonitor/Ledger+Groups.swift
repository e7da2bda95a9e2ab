// SPDX-License-Identifier: Apache-2.0

import StatusModel

extension Ledger {
    /// Counts no groups until ``setGroups(_:)``; servers stay members.
    mutating func suspendGroups() {
        if groups.isEmpty { return }
        groups = GroupTable()
        for place in records.indices { (records[place].groups, records[place].share) = ([], nil) }
    }

    /// Replaces all groups; ``settleGroups(into:at:)`` must follow.
    mutating func setGroups(_ rules: [ServerName: GroupRule]) -> Effects {
        var effects = Effects(revision: log.latest)
        suspendGroups()
        groups = GroupTable(rules)
        if groups.isEmpty, !hasMembers { return effects }
        hasMembers = !groups.isEmpty
        for place in records.indices {
            let old = records[place].state.group
            joinGroups(at: place)
            if records[place].state.group != old { effects = effects.followed(by: append(.updated, at: place)) }
        }
        return effects
    }

    /// Makes a server a member of its groups, and counts it there.
    mutating func joinGroups(at place: Int) {
        records[place].groups = groups.groups(of: records[place].state.name)
        records[place].state.group = groups.firstName(of: records[place].groups) ?? records[place].definition.group
        countMember(at: place, .changed)
    }

    /// Counts a server that changed in its groups.
    mutating func countMember(at place: Int, _ kind: EventKind) {
        guard !records[place].groups.isEmpty else { return }
        let share = kind == .removed ? nil : Group.Share(records[place].state)
        guard share != records[place].share else { return }
        groups.count(records[place].state.name, from: records[place].share, to: share, in: records[place].groups)
        records[place].share = share
    }

    /// Makes the status of each group what its members make of it.
    ///
    /// It must be called before the lock is released, so that no reader sees a group that contradicts its members. A
    /// group is settled after its members, so it changes once, whatever the number of groups in between.
    mutating func settleGroups(into effects: inout Effects, at now: Moment) {
        while let group = groups.takeDue() {
            guard let place = records.place(of: group.name) else { continue }
            let verdict = group.verdict(placeholder: records[place].definition.placeholder)
            guard records[place].take(verdict, isRestored: group.hasRestored, at: now.wall) else { continue }
            var change = append(.changed, at: place)
            if let update = change.update.take() { effects.groupUpdates = (effects.groupUpdates ?? []) + [update] }
            effects.wakes += change.wakes
            effects.isFirstUnsaved = effects.isFirstUnsaved || change.isFirstUnsaved
        }
    }
}

extension Ledger.Record {
    /// Takes what the members make of a group; returns whether that is a change.
    fileprivate mutating func take(_ verdict: Group.Verdict, isRestored: Bool, at now: Timestamp) -> Bool {
        let before = state
        switch verdict {
        case .status(let text, let level):
            if state.status?.text != text || state.status?.level != level || !state.isCurrent {
                _ = state.take(text, level: level, [], at: now)
            }
        case .none(let reason):
            (state.status, state.phase, state.message) = (nil, definition.firstPhase, reason)
            state.isStale = false
        }
        state.isRestored = state.isRestored && isRestored && state.status != nil
        return state != before
    }
}
