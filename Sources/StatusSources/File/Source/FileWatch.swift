// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

/// The changes of a file, or of the files that match a pattern, for which one check waits.
@EventLoop
final class FileWatch {
    /// The maximum number of directories that are watched for one check: the lowest ones of its path.
    private nonisolated static let maximumDepth = 64

    /// The entries of the path, from the root to the file.
    nonisolated let entries: [FileEntry]
    /// An element for each change of the file; several changes may be one element.
    nonisolated let changes: AsyncStream<Void>
    private let change: AsyncStream<Void>.Continuation
    /// The numbers of the kernel's watches of the directories of ``entries``; nil for one that is not watched.
    ///
    /// It is empty before the first watches are added.
    var numbers: [Int32?] = []
    /// Whether a thread is about to add the kernel's watches.
    var isBeginning = false
    /// Whether the reader of ``changes`` has left.
    private(set) var hasEnded = false
    /// Called when the reader of ``changes`` leaves.
    var onEnd: @EventLoop () -> Void = {}

    /// - Parameters:
    ///   - path: the file's path.
    ///   - isPattern: whether its last component is a glob(7) pattern.
    init(path: String, isPattern: Bool) {
        entries = FileEntry.entries(of: path, isPattern: isPattern).suffix(Self.maximumDepth)
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
