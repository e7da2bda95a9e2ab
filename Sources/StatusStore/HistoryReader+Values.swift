// SPDX-License-Identifier: Apache-2.0

import StatusModel

extension HistoryReader {
    /// Adds the average of a value to each part of a summary.
    ///
    /// - Parameter name: the name of the value; an empty text stands for the first one that the server measured last.
    func addValue(_ name: String, to summary: inout StatusSummary, now: Timestamp) throws(SQLiteError) {
        // The finest ring that reaches back so far; to read all of them would take three times as long.
        let length = now.milliseconds - summary.since.milliseconds
        let step = StoreFile.steps.first { length <= $0 * StoreFile.slots } ?? StoreFile.steps.last
        let measured = try database.rows(
            "SELECT at, measured FROM measurements WHERE server = ? AND step = ? AND at BETWEEN ? AND ? ORDER BY at",
            [try number(of: summary.server), step, summary.since, summary.until]
        ) { row -> (time: Timestamp, text: String)? in
            var columns = Columns(row)
            guard let time = columns.time(), let text = columns.visibleText() else { return nil }
            return (time, text)
        }
        let newest = measured.last.map { [MeasuredValue](performanceData: $0.text) } ?? []
        guard let first = newest.first else { return }
        let name = name.isEmpty ? first.name : name
        let names = newest.map(\.name)
        let series = measured.compactMap { time, text in
            MeasuredValue(name, inPerformanceData: text).map { (time, $0) }
        }
        let unit = series.last?.1.unit ?? ""
        summary.measured = SummaryValue(name: name, unit: unit, names: names)
        var counts = [Double](repeating: 0, count: summary.buckets.count)
        for (time, value) in series where value.unit == unit {
            let index = summary.bucket(at: time)
            counts[index] += 1
            let average = summary.buckets[index].value ?? 0
            summary.buckets[index].value = average + (value.value - average) / counts[index]
        }
    }
}
