// SPDX-License-Identifier: Apache-2.0

import StatusModel

struct Unsaved {
    /// Whether a change is noted; if not, the next change is reported as the first.
    private(set) var isNoted = false
    /// Whether changes are noted at all.
    let isOn: Bool
    /// The changed servers, each once; some may have been removed.
    private var names: [ServerName] = []

    init(isOn: Bool) { self.isOn = isOn }

    /// Notes that something changed; returns whether it is the first change.
    mutating func note() -> Bool {
        guard isOn, !isNoted else { return false }
        isNoted = true
        return true
    }

    /// Notes a changed server, which must not be noted yet.
    mutating func note(_ name: ServerName) { if isOn { names.append(name) } }

    /// Takes all names; later changes are noted again.
    mutating func take() -> [ServerName] {
        defer { names = [] }
        isNoted = false
        return names
    }
}

extension Ledger {
    /// Notes that a server has changed; returns whether it is the first change since the last save.
    mutating func noteUnsaved(at place: Int) -> Bool {
        if !records[place].isUnsaved, unsaved.isOn {
            records[place].isUnsaved = true
            unsaved.note(records[place].state.name)
        }
        return unsaved.note()
    }

    /// Takes the names of the servers that have changed, or were removed, since the last call, and the selection and
    /// the log at this time.
    mutating func takeUnsaved(at now: Moment) -> (names: [ServerName], log: LogMemory) {
        (unsaved.take(), memory(at: now))
    }

    /// The data of some servers to keep over a restart; nil for servers that do not exist.
    ///
    /// Later changes of these servers are noted again.
    mutating func save(_ names: some Collection<ServerName>) -> [ServerMemory?] {
        names.map { name in
            guard let place = records.place(of: name) else { return nil }
            records[place].isUnsaved = false
            let record = records[place]
            return ServerMemory(
                state: record.state, definition: record.definition, followed: record.followed,
                refreshedAt: record.refreshedAt, graceEnd: record.graceEnd, ownTimeToLive: record.ownTimeToLive,
                staysStale: record.staysStale)
        }
    }

    /// Notes that servers could not be saved; returns whether they are the first since the last save.
    mutating func keepUnsaved(_ names: some Collection<ServerName>) -> Bool {
        var isFirst = false
        for name in names {
            if let place = records.place(of: name) {
                isFirst = noteUnsaved(at: place) || isFirst
            } else {
                // Its removal must still be saved.
                unsaved.note(name)
                isFirst = unsaved.note() || isFirst
            }
        }
        return isFirst
    }

    /// The newest entries of the log.
    var entries: [LogEntry] { (log.oldest..<log.latest + 1).map { log[$0] } }
}
