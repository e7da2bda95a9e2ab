// SPDX-License-Identifier: Apache-2.0

/// The checks that wait for changes in one directory.
struct WatchedDirectory {
    /// If more entries than this change at the same time, all patterns count as matched.
    private static let maximumNames = 64

    private var waiting: [(watch: FileWatch, entry: FileEntry)] = []

    var isEmpty: Bool { waiting.isEmpty }

    /// All checks that wait for changes in the directory.
    var watches: [FileWatch] { waiting.map(\.watch) }

    mutating func insert(_ watch: FileWatch, for entry: FileEntry) { waiting.append((watch, entry)) }

    mutating func remove(_ watch: FileWatch) { waiting.removeAll { $0.watch === watch } }

    /// Returns the checks that depend on these entries.
    func watches(of changed: Set<[UInt8]>) -> [FileWatch] {
        let areMany = changed.count > Self.maximumNames
        return waiting.filter { _, entry in
            guard entry.isPattern else { return changed.contains(Array(entry.name.utf8)) }
            return areMany || changed.contains { FileEntry.matches(entry.name, $0) }
        }.map(\.watch)
    }
}
