// SPDX-License-Identifier: Apache-2.0

import StatusModel

extension Ledger {
    /// Takes over what an earlier run has left, without an event: for readers, the log goes on.
    mutating func restore(_ memory: consuming LedgerMemory, at now: Moment) {
        epoch = memory.log.epoch
        log.restore(memory.entries, upTo: memory.log)
        restorePositions(memory.log)
        let shift = memory.shift(to: now)
        for server in memory.servers where records.place(of: server.state.name) == nil {
            var record = Record(server, isSelected: server.state.name == memory.log.selected, shift: shift)
            record.grantGrace(at: now)
            records.insert(record)
        }
        if let name = memory.log.selected, records[name] != nil { restoreSelection(name) }
    }
}

extension Ledger.Record {
    fileprivate init(_ memory: ServerMemory, isSelected: Bool, shift: Duration) {
        self.init(
            server: Server(name: memory.state.name), followed: memory.followed, refreshedAt: memory.refreshedAt + shift,
            ownTimeToLive: memory.ownTimeToLive, graceEnd: memory.graceEnd.map { $0 + shift },
            staysStale: memory.staysStale, state: memory.state, definition: memory.definition)
        state.isSelected = isSelected
        state.isRefreshing = false
        state.isRestored = state.status != nil || state.phase == .failed
    }

    /// Gives a server that is overdue one interval to report.
    ///
    /// It is given once: a daemon that restarts again and again must not keep an old status fresh.
    fileprivate mutating func grantGrace(at now: Moment) {
        guard !state.isStale, graceEnd == nil, isStale(at: now), let time = ownTimeToLive ?? definition.timeToLive
        else { return }
        let grace = definition.interval ?? time
        graceEnd = now.boot + grace
        guard state.status != nil else { return }
        state.message =
            "its time to live ended while statusd was down; it becomes stale \(TimeSpan.text(grace)) after the restart"
    }

    /// Ends the grace; returns whether there was one.
    @discardableResult
    mutating func endGrace() -> Bool {
        guard graceEnd != nil else { return false }
        graceEnd = nil
        if state.status != nil { state.message = nil }
        return true
    }
}
