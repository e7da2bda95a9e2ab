// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc

/// Reports changes of a file, or of the files that match a pattern, to one check.
@EventLoop
final class FileWatch {
    /// The maximum number of directories to watch for one check; the lowest ones of the path are watched.
    private nonisolated static let maximumDepth = 64

    /// The entries of the path, from the root to the file.
    nonisolated let entries: [FileEntry]
    /// The changes of the file; several changes may be combined.
    nonisolated let changes: AsyncStream<Void>
    private let change: AsyncStream<Void>.Continuation
    /// The kernel's watch descriptors for the directories of ``entries``; nil for a directory that is not watched.
    ///
    /// The array is empty before the first watches are added.
    var numbers: [Int32?] = []
    /// Whether a thread is adding the kernel's watches.
    var isBeginning = false
    /// Whether the reader of ``changes`` has stopped.
    private(set) var hasEnded = false
    /// Called when the reader of ``changes`` stops.
    var onEnd: @EventLoop () -> Void = {}

    /// - Parameter isPattern: whether the last component is a glob(7) pattern.
    convenience init(path: String, isPattern: Bool) { self.init(FileEntry.entries(of: path, isPattern: isPattern)) }

    /// Creates a watch of one or more paths.
    init(_ entries: [FileEntry]) {
        self.entries = entries.suffix(Self.maximumDepth)
        (changes, change) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        change.onTermination = { [weak self] _ in EventLoop.perform { self?.end() } }
    }

    private func end() {
        hasEnded = true
        onEnd()
    }

    /// Reports that the file may have changed.
    func notify() { change.yield() }
}

/// A directory entry on the path to a file: the file itself, or a directory above it.
struct FileEntry: Sendable, Equatable {
    let directory: String
    /// A name, or a glob(7) pattern.
    let name: String
    let isPattern: Bool
    /// Whether the entry is the file itself.
    let isFile: Bool
    /// Whether each write to the file is a change, and not only its end.
    let hasWrites: Bool

    /// Returns the entries of an absolute path, from the root to the file.
    ///
    /// - Parameters:
    ///   - isPattern: whether the last component is a pattern.
    ///   - hasWrites: whether each write to the file is a change.
    static func entries(of path: String, isPattern: Bool, hasWrites: Bool = false) -> [FileEntry] {
        let names = path.split(separator: "/")
        return names.indices.map { index in
            let isFile = index == names.endIndex - 1
            return FileEntry(
                directory: "/" + names[..<index].joined(separator: "/"), name: String(names[index]),
                isPattern: isPattern && isFile, isFile: isFile, hasWrites: hasWrites && isFile)
        }
    }

    /// Whether a pattern matches a file name; patterns do not match hidden names.
    static func matches(_ pattern: String, _ name: [UInt8]) -> Bool {
        (name + [0]).withUnsafeBytes { bytes in
            bytes.assumingMemoryBound(to: CChar.self).baseAddress.map { fnmatch(pattern, $0, FNM_PERIOD) == 0 } ?? false
        }
    }
}
