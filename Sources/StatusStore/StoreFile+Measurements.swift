// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusMonitor

/// Keeping what checks measured, for graphs.
///
/// Each server has three rings of slots: for a day, a month and a year. A slot has the first measurement of the worst
/// level in its time, so that the peak that was a problem is there, until the ring comes round to it again. So the
/// table is limited without a search for what can go, and a reader has enough points for any of these periods. Nothing
/// of this runs when a status is posted.
extension StoreFile {
    /// A slot of the present time, and how bad the server was when it was measured.
    struct TakenSlot {
        let number: Int64
        let severity: Int
    }

    /// The lengths of a slot in milliseconds: 3 min, 90 min and 18 h.
    static let steps: [Int64] = [180_000, 5_400_000, 64_800_000]
    /// The number of slots of a ring.
    static let slots: Int64 = 480

    static let measurementInsertion = """
        INSERT INTO measurements (server, step, slot, at, measured) VALUES (?1, ?2, ?3 / ?2 % \(slots), ?3, ?4)
        ON CONFLICT DO UPDATE SET at = excluded.at, measured = excluded.measured
        WHERE ?5 OR at / step IS NOT excluded.at / excluded.step
        """

    /// Keeps what the last check of a server measured, in a transaction, unless its slots are taken.
    func keepMeasurements(of server: StoredServer) throws(SQLiteError) {
        let state = server.memory.state
        // A server of another host has its graphs there; those of 100,000 servers would take 15 GB.
        guard !state.values.isEmpty, !state.isOfOtherHost, let time = state.status?.updatedAt else { return }
        // Most batches have a server whose slots are taken, and need not ask the file.
        var taken = takenSlots[server.name] ?? []
        for (index, step) in Self.steps.enumerated() {
            let slot = TakenSlot(number: time.milliseconds / step, severity: state.severity)
            let old = index < taken.count ? taken[index] : nil
            let isWorse = old.map { $0.number == slot.number && $0.severity < slot.severity } ?? false
            if old?.number == slot.number, !isWorse { continue }
            try database.run(
                Self.measurementInsertion,
                [try number(of: server.name), step, time, state.values.performanceData, isWorse])
            if index < taken.count { taken[index] = slot } else { taken.append(slot) }
        }
        takenSlots[server.name] = taken
    }

    /// Removes some measurements that are too old, or some of all if `oldest` is nil; returns how many.
    func forgetMeasurements(before oldest: Timestamp?, atMost limit: Int) throws(SQLiteError) -> Int {
        let condition = oldest.map { "WHERE at < \($0.milliseconds)" } ?? ""
        try database.execute(
            """
            DELETE FROM measurements WHERE (server, step, slot) IN (
                SELECT server, step, slot FROM measurements \(condition) LIMIT \(limit))
            """)
        return database.changedRows
    }
}
