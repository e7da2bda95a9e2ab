// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// The servers' records, each at a position that a lookup by name finds.
///
/// A change uses the position several times but hashes the name only once. A position is valid until a server is
/// removed.
struct ServerTable {
    private var places: [ServerName: Int] = [:]
    private var records: [Ledger.Record] = []
    /// All names, sorted.
    private var names: [ServerName] = []
    /// The position that was looked up last for a post.
    private var last = 0

    /// The positions of all servers, in no particular order.
    var indices: Range<Int> { records.indices }

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
        let start = name.map { name in firstIndex { $0 > name } } ?? 0
        return names[start..<start + min(names.count - start, limit)].lazy.compactMap { self[$0] }
    }

    /// The index of the first name that satisfies a condition, which all later names must satisfy, too.
    private func firstIndex(where isBehind: (ServerName) -> Bool) -> Int {
        var range = 0..<names.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range = isBehind(names[middle]) ? range.lowerBound..<middle : middle + 1..<range.upperBound
        }
        return range.lowerBound
    }

    /// Adds a record, whose name must be new; returns its position.
    @discardableResult
    mutating func insert(_ record: Ledger.Record) -> Int {
        let place = records.count
        let replaced = places.updateValue(place, forKey: record.state.name)
        precondition(replaced == nil, "two records of one name")
        let name = record.state.name
        names.insert(name, at: firstIndex { $0 > name })
        records.append(record)
        return place
    }

    /// Removes a server's record; the last record moves to its position.
    mutating func remove(_ name: ServerName) {
        guard let place = places.removeValue(forKey: name) else { return }
        names.remove(at: firstIndex { $0 >= name })
        let last = records.removeLast()
        guard place < records.count else { return }
        places[last.state.name] = place
        records[place] = last
    }
}
