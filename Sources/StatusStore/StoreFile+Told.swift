// SPDX-License-Identifier: Apache-2.0

import StatusAlerts
import StatusModel

/// What receivers of alerts were told.
extension StoreFile {
    func loadTold() throws(SQLiteError) -> [AlertKey: Told] {
        let rows = try database.rows("SELECT receiver, server, level, problem, is_outdated, told_at FROM told") { row in
            var columns = Columns(row)
            let (receiver, server) = (columns.text() ?? "", columns.name())
            var told = Told()
            told.level = columns.text().flatMap { Level(rawValue: $0) } ?? .ok
            (told.id, told.isOutdated, told.toldAt) = (columns.text(), columns.flag(), columns.duration() ?? .zero)
            return server.map { (AlertKey(receiver, $0), told) }
        }
        return Dictionary(rows.compactMap(\.self), uniquingKeysWith: { first, _ in first })
    }

    func save(_ told: Told?, of key: AlertKey) throws(SQLiteError) {
        guard let told else {
            let names: [(any SQLConvertible)?] = [key.receiver, key.server.rawValue]
            return try database.run("DELETE FROM told WHERE receiver = ? AND server = ?", names)
        }
        try database.run(
            "REPLACE INTO told (receiver, server, level, problem, is_outdated, told_at) VALUES (?, ?, ?, ?, ?, ?)",
            [key.receiver, key.server.rawValue, told.level.rawValue, told.id, told.isOutdated, told.toldAt])
    }
}
