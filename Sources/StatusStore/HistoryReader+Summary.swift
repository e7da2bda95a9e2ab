// SPDX-License-Identifier: Apache-2.0

import SQLite
import StatusModel

extension HistoryReader {
    /// Sums up the history of a server in a period.
    ///
    /// - Parameters:
    ///   - buckets: the number of equal parts.
    ///   - now: the current time; nothing is known of what comes after it.
    func summary(
        of server: ServerName, since: Timestamp, until: Timestamp, buckets: Int, now: Timestamp
    ) throws(SQLiteError) -> StatusSummary {
        var tally = SummaryTally(server, since: since, until: until, buckets: buckets)
        let number = try number(of: server)
        tally.start(grade: try grade(of: number, before: since), isRunning: try wasRunning(before: since))
        let statement = try database.statement(
            """
            SELECT at, grade, NULL, id FROM changes WHERE server = ?1 AND at > ?2 AND at <= ?3 AND grade IS NOT NULL
            UNION ALL
            SELECT at, NULL, kind = 'started', id FROM changes WHERE server IS NULL AND at > ?2 AND at <= ?3 AND kind <> 'selected'
            UNION ALL
            SELECT at, \(Self.prunedGrade), coalesce(is_running, 1), 0 FROM pruned WHERE at > ?2 AND at <= ?3
            ORDER BY 1, 4
            """)
        defer { statement.reset() }
        var parameters = Parameters(statement)
        for value in [number, since.milliseconds, until.milliseconds] { try parameters.add(value) }
        while try statement.step() {
            guard let time = statement.integer(0) else { continue }
            switch (statement.integer(1).map { Grade(number: $0) }, statement.integer(2).map { $0 == 1 }) {
            case (let grade?, let isRunning?): tally.begin(grade, isRunning: isRunning, at: time)
            case (let grade?, nil): tally.change(to: grade, at: time)
            case (nil, let isRunning): tally.run(isRunning == true, at: time)
            }
        }
        return tally.end(now: now.milliseconds)
    }

    /// The grade that the removed entries of a server have left.
    private static let prunedGrade = "coalesce((SELECT grade FROM names WHERE id = ?1), 0)"

    private func grade(of server: Int64, before time: Timestamp) throws(SQLiteError) -> Grade {
        let number = try last(
            """
            SELECT grade FROM (
                SELECT grade FROM changes WHERE server = ?1 AND at <= ?2 AND grade IS NOT NULL ORDER BY at DESC, id DESC LIMIT 1)
            UNION ALL
            SELECT \(Self.prunedGrade) FROM pruned WHERE at <= ?2
            """, server, time)
        return Grade(number: number ?? 0)
    }

    private func wasRunning(before time: Timestamp) throws(SQLiteError) -> Bool {
        try last(
            """
            SELECT isRunning FROM (
                SELECT kind = 'started' AS isRunning FROM changes
                WHERE server IS ?1 AND at <= ?2 AND kind <> 'selected' ORDER BY at DESC, id DESC LIMIT 1)
            UNION ALL
            SELECT coalesce(is_running, 1) FROM pruned WHERE at <= ?2
            """, nil, time) == 1
    }

    /// The first row of a query with two parameters.
    private func last(_ sql: String, _ server: Int64?, _ time: Timestamp) throws(SQLiteError) -> Int64? {
        let statement = try database.statement(sql)
        defer { statement.reset() }
        var parameters = Parameters(statement)
        try parameters.add(server)
        try parameters.add(time)
        return try statement.step() ? statement.integer(0) : nil
    }
}

/// Adds up the times between the changes of one server.
struct SummaryTally {
    private var summary: StatusSummary
    private let width: Double
    private var time: Int64
    private var grade = Grade.none
    private var isRunning = false

    init(_ server: ServerName, since: Timestamp, until: Timestamp, buckets: Int) {
        let length = max(0, until.milliseconds - since.milliseconds)
        width = Double(length) / Double(buckets)
        let starts = (0..<buckets).map { [width] index in
            Timestamp(milliseconds: since.milliseconds + Int64(Double(index) * width))
        }
        summary = StatusSummary(
            server: server, since: since, until: until, buckets: starts.map { SummaryBucket(start: $0) })
        time = since.milliseconds
    }

    /// Sets the state at the beginning.
    mutating func start(grade: Grade, isRunning: Bool) {
        (self.grade, self.isRunning) = (grade, isRunning)
    }

    /// Notes what is known from now on, after entries that were removed.
    mutating func begin(_ grade: Grade, isRunning: Bool, at time: Int64) {
        advance(to: time)
        start(grade: grade, isRunning: isRunning)
    }

    /// Notes a change of the server, in the order of time.
    mutating func change(to grade: Grade, at time: Int64) {
        advance(to: time)
        self.grade = grade
        // Being added or removed is no change of the status.
        if grade != .none { summary.buckets[bucket(at: time)].changes += 1 }
        // Also if it lasts for no time.
        noteWorst(in: bucket(at: time))
    }

    /// Notes that the daemon was started or stopped.
    mutating func run(_ isRunning: Bool, at time: Int64) {
        advance(to: time)
        self.isRunning = isRunning
    }

    /// The sums up to the end of the period; a level after `now` is not known.
    mutating func end(now: Int64) -> StatusSummary {
        let end = summary.until.milliseconds
        run(false, at: min(now, end))
        advance(to: end)
        return summary
    }

    private func bucket(at time: Int64) -> Int {
        guard width > 0 else { return 0 }
        let index = Int(Double(time - summary.since.milliseconds) / width)
        return min(max(0, index), summary.buckets.count - 1)
    }

    private var level: Level? { isRunning ? grade.level : nil }

    private mutating func noteWorst(in bucket: Int) {
        guard let level else { return }
        if let worst = summary.buckets[bucket].worst, !level.isWorse(than: worst) { return }
        summary.buckets[bucket].worst = level
    }

    private mutating func advance(to end: Int64) {
        while time < end {
            let index = bucket(at: time)
            let isLast = index == summary.buckets.count - 1
            // The start of the next bucket; rounding must not keep it where it is.
            let next = isLast ? end : max(time + 1, summary.buckets[index + 1].start.milliseconds)
            let stop = min(end, next)
            summary.buckets[index].times[level] += Int(stop - time)
            noteWorst(in: index)
            time = stop
        }
    }
}
