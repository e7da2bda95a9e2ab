// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusMonitor

/// Writing the history.
extension StoreFile {
    static let changeInsertion = """
        INSERT INTO changes (
            server, kind, at, grade, since_boot, life, revision,
            source, phase, text, level, message, stale, omitted, user)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """

    static let nameInsertion = "INSERT OR IGNORE INTO names (name) VALUES (?)"
    static let nameQuery = "SELECT id FROM names WHERE name = ?"

    /// Appends an entry.
    ///
    /// - Parameter now: a time of this run by both clocks, which relates them.
    func append(_ change: Change, since now: Moment) throws(SQLiteError) {
        let statement = try database.statement(Self.changeInsertion)
        var parameters = Parameters(statement)
        let state = change.server
        try parameters.add(
            try state.map { state throws(SQLiteError) in try number(of: state.name, after: change) })
        try parameters.add(change.kind.rawValue)
        try parameters.add(change.at)
        try parameters.add(change.grade?.number)
        newestChange = moment(of: change, at: now)
        try parameters.add(newestChange)
        try parameters.add(bootNumber)
        try parameters.add(Int64(change.revision))
        try parameters.add(state?.source)
        try parameters.add(state?.phase.rawValue)
        try parameters.add(state?.status?.text.rawValue)
        try parameters.add(state?.status?.level.rawValue)
        try parameters.add(state?.message)
        try parameters.add(state?.isStale ?? false)
        try parameters.add(change.omitted)
        try parameters.add(change.user.map { Int64($0) })
        try statement.run()
        guard bootNumber == 0 else { return }
        bootNumber = database.lastRowID
        try database.execute("UPDATE changes SET life = id WHERE id = \(bootNumber)")
    }

    /// The time since boot at which an entry was made.
    ///
    /// It is computed from the entry's wall clock, unless that would place the entry long before the previous one: then
    /// the wall clock was set. Entries come in order, except for entries that were held back for a while.
    private func moment(of change: Change, at now: Moment) -> Duration {
        let moment = now.boot - .milliseconds(now.wall.milliseconds - change.at.milliseconds)
        return moment < newestChange - Self.longestDelay ? newestChange : min(moment, now.boot)
    }

    private static let longestDelay = Duration.seconds(600)

    /// The number of an entry's server in the history.
    private func number(of name: ServerName, after change: Change) throws(SQLiteError) -> Int64 {
        let number = try number(of: name)
        // A removed server may never come back.
        names[name] = change.kind == .removed ? nil : number
        return number
    }

    /// The number of a server in the history; a new server gets one.
    func number(of name: ServerName) throws(SQLiteError) -> Int64 {
        if let number = names[name] { return number }
        let insertion = try database.statement(Self.nameInsertion)
        try insertion.bind(name.rawValue, at: 0)
        try insertion.run()
        let query = try database.statement(Self.nameQuery)
        defer { query.reset() }
        try query.bind(name.rawValue, at: 0)
        guard try query.step(), let number = query.integer(0) else {
            throw SQLiteError(.damaged, "damaged: the table “names”")
        }
        return number
    }
}

extension Change {
    /// The grade of the time after the entry; nil if the entry does not change it.
    fileprivate var grade: Grade? {
        switch kind {
        case .changed, .added: server.map { Grade($0) }
        case .removed: Grade.none
        case .selected, .started, .stopped: nil
        }
    }
}
