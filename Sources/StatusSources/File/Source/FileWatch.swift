// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc

/// The changes of a directory for which one check waits.
@EventLoop
final class FileWatch {
    nonisolated let directory: String
    /// An element for each change of the file; several changes may be one element.
    nonisolated let changes: AsyncStream<Void>
    private nonisolated let name: String
    private nonisolated let isPattern: Bool
    private let change: AsyncStream<Void>.Continuation
    /// The number of the kernel's watch of the directory, if any.
    var number: Int32?
    /// Whether a thread is about to add the kernel's watch.
    var isBeginning = false
    /// Whether the reader of ``changes`` has left.
    private(set) var hasEnded = false
    /// Called when the reader of ``changes`` leaves.
    var onEnd: @EventLoop () -> Void = {}

    /// - Parameters:
    ///   - path: the file's path.
    ///   - isPattern: whether its last component is a glob(7) pattern.
    init(path: String, isPattern: Bool) {
        let slash = path.lastIndex(of: "/") ?? path.startIndex
        directory = slash == path.startIndex ? "/" : String(path[..<slash])
        name = String(path[path.index(after: slash)...])
        self.isPattern = isPattern
        (changes, change) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        change.onTermination = { [weak self] _ in EventLoop.perform { self?.end() } }
    }

    private func end() {
        hasEnded = true
        onEnd()
    }

    /// Whether it waits for changes of a file of this name.
    nonisolated func concerns(_ name: String) -> Bool {
        isPattern ? fnmatch(self.name, name, FNM_PERIOD) == 0 : self.name == name
    }

    /// Reports that the file may have changed.
    func notify() { change.yield() }
}
