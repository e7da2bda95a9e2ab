// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// The servers' records, each at a place that one lookup by name finds.
///
/// A change uses the place several times and hashes the name once. A place is valid until a server is removed.
struct ServerTable {
    private var places: [ServerName: Int] = [:]
    private var records: [Ledger.Record] = []

    /// All places, in no particular order.
    var indices: Range<Int> { records.indices }

    /// The place of a server; nil if the table does not have it.
    func place(of name: ServerName) -> Int? { places[name] }

    /// The record at a place, changed without a copy.
    subscript(place: Int) -> Ledger.Record {
        _read { yield records[place] }
        _modify { yield &records[place] }
    }

    /// The record of a server; nil if the table does not have it.
    subscript(name: ServerName) -> Ledger.Record? { places[name].map { records[$0] } }

    /// Adds a record, whose name must be new.
    mutating func insert(_ record: Ledger.Record) {
        let replaced = places.updateValue(records.count, forKey: record.state.name)
        precondition(replaced == nil, "two records of one name")
        records.append(record)
    }

    /// Removes a server's record; the last record moves to its place.
    mutating func remove(_ name: ServerName) {
        guard let place = places.removeValue(forKey: name) else { return }
        let last = records.removeLast()
        guard place < records.count else { return }
        places[last.state.name] = place
        records[place] = last
    }
}
