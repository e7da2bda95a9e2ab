// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// The servers' records, each at a position that a lookup by name finds.
///
/// A change uses the position several times but hashes the name only once. A position is valid until a server is
/// removed. Records are in chunks, so a growing table neither moves them nor reserves memory for twice as many.
struct ServerTable {
    private static let chunkSize = 256

    private var places: [ServerName: Int] = [:]
    private var chunks: [[Ledger.Record]] = []
    /// All names, sorted.
    private var names: [ServerName] = []

    /// The positions of all servers, in no particular order.
    var indices: Range<Int> { 0..<places.count }

    /// The position of a server; nil if the table does not have it.
    func place(of name: ServerName) -> Int? { places[name] }

    /// The record at a position, changed without a copy.
    subscript(place: Int) -> Ledger.Record {
        // Not `_read`: the compiler (6.3) reads a large member after the frame from which `_read` yields is gone.
        get { chunks[place / Self.chunkSize][place % Self.chunkSize] }
        _modify { yield &chunks[place / Self.chunkSize][place % Self.chunkSize] }
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
        let place = places.count
        let replaced = places.updateValue(place, forKey: record.state.name)
        precondition(replaced == nil, "two records of one name")
        let name = record.state.name
        names.insert(name, at: firstIndex { $0 > name })
        if place % Self.chunkSize == 0 {
            chunks.append([])
            // The first chunk grows when needed: most tables are small.
            if place > 0 { chunks[chunks.count - 1].reserveCapacity(Self.chunkSize) }
        }
        chunks[chunks.count - 1].append(record)
        return place
    }

    /// Removes a server's record; the last record moves to its position.
    mutating func remove(_ name: ServerName) {
        guard let place = places.removeValue(forKey: name) else { return }
        names.remove(at: firstIndex { $0 >= name })
        let last = chunks[chunks.count - 1].removeLast()
        if chunks[chunks.count - 1].isEmpty { chunks.removeLast() }
        guard place < places.count else { return }
        places[last.state.name] = place
        self[place] = last
    }
}
