// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

/// The checks that wait for changes in one directory, by the entries that concern them.
struct WatchedDirectory {
    private typealias Watches = [ObjectIdentifier: FileWatch]

    /// If more entries changed at the same time, all patterns count as matched.
    private static let maximumNames = 64

    private var names: [String: Watches] = [:]
    private var patterns: [String: Watches] = [:]

    var isEmpty: Bool { names.isEmpty && patterns.isEmpty }

    /// All checks that wait for changes in the directory.
    var watches: [FileWatch] { names.values.flatMap(\.values) + patterns.values.flatMap(\.values) }

    mutating func insert(_ watch: FileWatch, for entry: FileEntry) {
        self[keyPath: Self.kind(of: entry)][entry.name, default: [:]][ObjectIdentifier(watch)] = watch
    }

    mutating func remove(_ watch: FileWatch, for entry: FileEntry) {
        let kind = Self.kind(of: entry)
        self[keyPath: kind][entry.name]?[ObjectIdentifier(watch)] = nil
        if self[keyPath: kind][entry.name]?.isEmpty == true { self[keyPath: kind][entry.name] = nil }
    }

    private static func kind(of entry: FileEntry) -> WritableKeyPath<WatchedDirectory, [String: Watches]> {
        entry.isPattern ? \.patterns : \.names
    }

    /// The checks that changes of these entries concern.
    func watches(of changed: Set<String>) -> [FileWatch] {
        let areMany = changed.count > Self.maximumNames
        let matched = patterns.filter { pattern, _ in
            areMany || changed.contains { FileEntry.matches(pattern, $0) }
        }
        return changed.flatMap { names[$0, default: [:]].values } + matched.values.flatMap(\.values)
    }
}
