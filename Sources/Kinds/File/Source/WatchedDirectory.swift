// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

/// The checks that wait for changes in one directory, by entry.
struct WatchedDirectory {
    private typealias Watches = [ObjectIdentifier: FileWatch]

    /// If more entries than this change at the same time, all patterns count as matched.
    private static let maximumNames = 64

    private var names: [[UInt8]: Watches] = [:]
    private var patterns: [String: Watches] = [:]

    var isEmpty: Bool { names.isEmpty && patterns.isEmpty }

    /// All checks that wait for changes in the directory.
    var watches: [FileWatch] { names.values.flatMap(\.values) + patterns.values.flatMap(\.values) }

    mutating func insert(_ watch: FileWatch, for entry: FileEntry) {
        change(entry) { $0[ObjectIdentifier(watch)] = watch }
    }

    mutating func remove(_ watch: FileWatch, for entry: FileEntry) {
        change(entry) { $0[ObjectIdentifier(watch)] = nil }
    }

    private mutating func change(_ entry: FileEntry, _ body: (inout Watches) -> Void) {
        if entry.isPattern {
            Self.change(&patterns, at: entry.name, body)
        } else {
            Self.change(&names, at: Array(entry.name.utf8), body)
        }
    }

    private static func change<Key>(_ all: inout [Key: Watches], at key: Key, _ body: (inout Watches) -> Void) {
        body(&all[key, default: [:]])
        if all[key]?.isEmpty == true { all[key] = nil }
    }

    /// Returns the checks that depend on these entries.
    func watches(of changed: Set<[UInt8]>) -> [FileWatch] {
        let areMany = changed.count > Self.maximumNames
        let matched = patterns.filter { pattern, _ in
            areMany || changed.contains { FileEntry.matches(pattern, $0) }
        }
        return changed.flatMap { names[$0, default: [:]].values } + matched.values.flatMap(\.values)
    }
}
