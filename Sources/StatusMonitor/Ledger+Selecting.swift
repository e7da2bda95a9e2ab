// SPDX-License-Identifier: Apache-2.0

import StatusModel

extension Ledger {
    /// Moves the selection; returns nil if the server is selected already.
    mutating func select(_ name: ServerName?, by caller: Caller? = nil) throws(LedgerError) -> Effects? {
        if let name, records.place(of: name) == nil { throw .noSuchServer(name) }
        guard name != selected else { return nil }
        watches.supersedeSelected()
        let revision = log.latest + 1
        if let place = selected.flatMap(records.place(of:)) {
            records[place].state.isSelected = false
            records[place].state.revision = revision
        }
        selected = name
        selectionRevision = revision
        guard let place = name.flatMap(records.place(of:)) else {
            var effects = append(.selected, at: nil, by: caller)
            effects.isFirstUnsaved = unsaved.note()
            return effects
        }
        records[place].state.isSelected = true
        return append(.selected, at: place, by: caller)
    }

    /// Selects the first of the worst servers by name; returns nil if the selected one is as bad, or there is none.
    mutating func selectWorst(by caller: Caller? = nil) -> Effects? {
        let severity = selected.flatMap(records.place(of:)).map { records[$0].state.severity } ?? 0
        let worse = severe.indices.reversed().first { severe[$0].first != nil && $0 > severity }
        guard let worst = worse.flatMap({ severe[$0].first }) ?? (severity == 0 ? records.firstName : nil) else {
            return nil
        }
        return try? select(worst, by: caller)
    }

    /// Lists a server under the severity of its level, or no longer under any.
    mutating func listSeverity(_ severity: Int8, at place: Int) {
        let old = records[place].severity
        guard severity != old else { return }
        records[place].severity = severity
        if old > 1 { severe[Int(old)].remove(records[place].state.name) }
        if severity > 1 { severe[Int(severity)].insert(records[place].state.name) }
    }
}
