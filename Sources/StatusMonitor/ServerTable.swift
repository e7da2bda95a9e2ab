// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// The servers' records, each at a position that a lookup by name finds.
///
/// A change uses the position several times but hashes the name only once. A position is valid until a server is
/// removed.
struct ServerTable {
    private var places: [ServerName: Int] = [:]
    private var records: [Ledger.Record] = []
    private var sortedNames = SortedNames()
    /// The position that was looked up last for a post.
    private var last = 0

    /// The positions of all servers, in no particular order.
    var indices: Range<Int> { records.indices }

    /// The first name; nil if there is none.
    var firstName: ServerName? { sortedNames.first }

    /// All names, sorted.
    var names: [ServerName] { sortedNames.names(after: nil, limit: .max) }

    /// The position of a server; nil if the table does not have it.
    func place(of name: ServerName) -> Int? { places[name] }

    /// The same; fast for the server of the last post, because a program often posts several statuses in a row.
    mutating func placeOfPost(to name: ServerName) -> Int? {
        if last < records.count, records[last].state.name == name { return last }
        guard let place = places[name] else { return nil }
        last = place
        return place
    }

    /// The record at a position, changed without a copy.
    subscript(place: Int) -> Ledger.Record {
        // Not `_read`: the compiler (6.3) reads a large member after the frame from which `_read` yields is gone.
        get { records[place] }
        _modify { yield &records[place] }
    }

    /// The record of a server; nil if the table does not have it.
    subscript(name: ServerName) -> Ledger.Record? { places[name].map { self[$0] } }

    /// The records of at most `limit` servers after `name`, sorted by name.
    func records(after name: ServerName?, limit: Int) -> some Sequence<Ledger.Record> {
        sortedNames.names(after: name, limit: limit).lazy.compactMap { self[$0] }
    }

    /// Makes room for this many records, so that the table need not grow in one step.
    mutating func reserveCapacity(_ count: Int) {
        places.reserveCapacity(count)
        records.reserveCapacity(count)
    }

    /// Adds a record, whose name must be new; returns its position.
    @discardableResult
    mutating func insert(_ record: Ledger.Record) -> Int {
        let place = records.count
        let replaced = places.updateValue(place, forKey: record.state.name)
        precondition(replaced == nil, "two records of one name")
        sortedNames.insert(record.state.name)
        records.append(record)
        return place
    }

    /// Removes a server's record; the last record moves to its position.
    mutating func remove(_ name: ServerName) {
        guard let place = places.removeValue(forKey: name) else { return }
        sortedNames.remove(name)
        let last = records.removeLast()
        guard place < records.count else { return }
        places[last.state.name] = place
        records[place] = last
    }
}
