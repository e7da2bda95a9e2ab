// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusMonitor

extension HistoryReader {
    /// Sums up the history of a server in a period.
    ///
    /// Entries are read in order, and the times between them come from the boot clock. If the wall clock was set, the
    /// last setting applies to all entries of that boot.
    ///
    /// - Parameters:
    ///   - buckets: the number of equal parts.
    ///   - now: the current time; the time after it has no level.
    ///   - boot: identifies this boot of the machine.
    func summary(
        of server: ServerName, since: Timestamp, until: Timestamp, buckets: Int, now: Moment, boot: String
    ) throws(SQLiteError) -> StatusSummary {
        var tally = SummaryTally(server, since: since, until: until, buckets: buckets)
        let number = try number(of: server)
        try begin(&tally, number)
        let clocks = try clocks(now, boot)
        var runs = try runs(clocks)[...]
        let statement = try database.statement(
            """
            SELECT id, life, since_boot, at, grade, kind = 'changed', omitted FROM changes
            WHERE server = ? AND grade IS NOT NULL ORDER BY id
            """)
        defer { statement.reset() }
        try statement.bind(number, at: 0)
        var (life, clock) = (Int64?.none, Int64?.none)
        while try statement.step() {
            let id = statement.integer(0) ?? 0
            while let run = runs.first, run.id < id {
                tally.run(run.isStart, at: run.time)
                runs.removeFirst()
            }
            let lifeOfEntry = statement.integer(1)
            if lifeOfEntry != life { (life, clock) = (lifeOfEntry, lifeOfEntry.flatMap { clocks[$0] }) }
            let time = Self.time(statement.integer(3) ?? 0, clock, statement.integer(2))
            // A damaged row may contain any number.
            let changes = statement.integer(5) == 1 ? 1 + min(max(0, Int(statement.integer(6) ?? 0)), 1 << 32) : 0
            tally.noteBeginning(time)
            tally.change(to: Level(grade: statement.integer(4)), changes: changes, at: time)
        }
        for run in runs { tally.run(run.isStart, at: run.time) }
        return tally.end(now: now.wall.milliseconds)
    }

    /// The times at which the daemon was started and stopped.
    private func runs(_ clocks: [Int64: Int64]) throws(SQLiteError) -> [(id: Int64, time: Int64, isStart: Bool)] {
        try database.rows(
            """
            SELECT id, life, since_boot, at, kind = 'started' FROM changes
            WHERE server IS NULL AND kind <> 'selected' ORDER BY id
            """
        ) { row in
            let clock = row.integer(1).flatMap { clocks[$0] }
            let time = Self.time(row.integer(3) ?? 0, clock, row.integer(2))
            return (row.integer(0) ?? 0, time, row.integer(4) == 1)
        }
    }

    /// The time of an entry: the wall clock at boot plus the time since boot.
    ///
    /// If these are unknown or damaged, it is the entry's own time.
    private static func time(_ at: Int64, _ clock: Int64?, _ sinceBoot: Int64?) -> Int64 {
        guard let clock, let sinceBoot else { return at }
        let (sum, isOverflow) = clock.addingReportingOverflow(sinceBoot / 1000)
        return isOverflow ? at : sum
    }

    /// Begins with what the entries that were removed said.
    private func begin(_ tally: inout SummaryTally, _ server: Int64) throws(SQLiteError) {
        let run = try database.rows("SELECT at, is_running FROM pruned") { ($0.integer(0) ?? 0, $0.integer(1) == 1) }
        let level = try database.rows("SELECT graded_at, grade FROM names WHERE id = ? AND grade IS NOT NULL", [server])
        {
            ($0.integer(0) ?? 0, Level(grade: $0.integer(1)))
        }
        for (time, isRunning) in run { tally.run(isRunning, at: time) }
        for (time, level) in level { tally.change(to: level, changes: 0, at: time) }
        if let time = level.first?.0 { tally.noteBeginning(max(time, run.first?.0 ?? time)) }
    }

    /// The wall clock at each boot of the machine, in milliseconds since 1970.
    ///
    /// It comes from the last entry of that boot; for the current boot, from the wall clock now.
    private func clocks(_ now: Moment, _ boot: String) throws(SQLiteError) -> [Int64: Int64] {
        // Each run of the daemon has an entry without a server, unless that entry was removed.
        let lives = try database.rows("SELECT DISTINCT life FROM changes WHERE server IS NULL") { $0.integer(0) }
        let first = try database.rows("SELECT life FROM changes ORDER BY id LIMIT 1") { $0.integer(0) }
        let boots = Set(lives + first).sorted()
        var clocks: [Int64: Int64] = [:]
        for (boot, end) in zip(boots, boots.dropFirst() + [.max]) {
            clocks[boot] = try database.rows(
                "SELECT at - since_boot / 1000 FROM changes WHERE id < ? AND life = ? ORDER BY id DESC LIMIT 1",
                [end, boot]
            ) { $0.integer(0) }.first
        }
        if let last = boots.last, try database.integer("SELECT 1 FROM daemon WHERE boot = ?", boot) != nil {
            clocks[last] = now.wall.milliseconds - now.boot.microseconds / 1000
        }
        return clocks
    }
}

/// Adds up the times that one server spent in each level.
struct SummaryTally {
    private var summary: StatusSummary
    private let width: Double
    private var time: Int64
    private var level: Level?
    private var isRunning = false
    private var hasBegun = false

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

    /// Notes when the history of the server begins; only the first note counts.
    mutating func noteBeginning(_ time: Int64) {
        defer { hasBegun = true }
        guard !hasBegun, time > summary.since.milliseconds else { return }
        summary.knownSince = Timestamp(milliseconds: time)
    }

    /// Notes a change of the server, in the order of time.
    ///
    /// - Parameter changes: how many changes of the status it stands for.
    mutating func change(to level: Level?, changes: Int, at time: Int64) {
        guard time <= summary.until.milliseconds else { return }
        advance(to: time)
        self.level = level
        guard time > summary.since.milliseconds else { return }
        summary.buckets[bucket(at: time)].changes += changes
        // A level counts even if it lasts no time.
        noteWorst(in: bucket(at: time))
    }

    /// Notes that the daemon was started or stopped.
    mutating func run(_ isRunning: Bool, at time: Int64) {
        guard time <= summary.until.milliseconds else { return }
        advance(to: time)
        self.isRunning = isRunning
    }

    /// Returns the sums up to the end of the period; the time after `now` has no level.
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

    private var countedLevel: Level? { isRunning ? level : nil }

    private mutating func noteWorst(in bucket: Int) {
        guard let level = countedLevel else { return }
        if let worst = summary.buckets[bucket].worst, !level.isWorse(than: worst) { return }
        summary.buckets[bucket].worst = level
    }

    private mutating func advance(to end: Int64) {
        while time < end {
            let index = bucket(at: time)
            let isLast = index == summary.buckets.count - 1
            // The start of the next bucket, at least 1 ms later: rounding must not stop the progress.
            let next = isLast ? end : max(time + 1, summary.buckets[index + 1].start.milliseconds)
            let stop = min(end, next)
            summary.buckets[index].times[countedLevel] += Int(stop - time)
            noteWorst(in: index)
            time = stop
        }
    }
}
