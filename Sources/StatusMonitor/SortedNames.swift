// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// The names of all servers, sorted, in chunks, so that a change among many names moves only a few of them.
struct SortedNames {
    /// The most names of a chunk: about the square root of the greatest number of names.
    static let mostOfChunk = 512

    /// None of them is empty.
    private(set) var chunks: [[ServerName]] = []

    /// The first name; nil if there is none.
    var first: ServerName? { chunks.first?.first }

    /// Adds a name, which must be new.
    mutating func insert(_ name: ServerName) {
        let place = max(0, chunk(after: name) - 1)
        guard place < chunks.count else { return chunks.append([name]) }
        if chunks[place].count == Self.mostOfChunk {
            // Names that come in their order, as at a start, fill each chunk.
            if place == chunks.count - 1, let last = chunks[place].last, last < name { return chunks.append([name]) }
            let half = Array(chunks[place][(Self.mostOfChunk / 2)...])
            chunks[place].removeLast(half.count)
            chunks.insert(half, at: place + 1)
            return insert(name)
        }
        chunks[place].insert(name, at: Self.index(in: chunks[place]) { $0 > name })
    }

    /// Removes a name, which must be there.
    mutating func remove(_ name: ServerName) {
        let place = chunk(after: name) - 1
        chunks[place].remove(at: Self.index(in: chunks[place]) { $0 >= name })
        if chunks[place].isEmpty { chunks.remove(at: place) }
    }

    /// At most `limit` names after `name`; from the first one if nil.
    func names(after name: ServerName?, limit: Int) -> [ServerName] {
        var place = name.map { max(0, chunk(after: $0) - 1) } ?? 0
        var names: [ServerName] = []
        while place < chunks.count, names.count < limit {
            let chunk = chunks[place]
            let start = names.isEmpty ? name.map { name in Self.index(in: chunk) { $0 > name } } ?? 0 : 0
            names += chunk[start...].prefix(limit - names.count)
            place += 1
        }
        return names
    }

    /// The index of the first chunk that begins after a name.
    private func chunk(after name: ServerName) -> Int { Self.index(in: chunks) { $0[0] > name } }

    /// The index of the first element that satisfies a condition, which all later elements must satisfy, too.
    private static func index<Element>(in elements: [Element], where isBehind: (Element) -> Bool) -> Int {
        var range = 0..<elements.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range = isBehind(elements[middle]) ? range.lowerBound..<middle : middle + 1..<range.upperBound
        }
        return range.lowerBound
    }
}
