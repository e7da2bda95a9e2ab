// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc

/// What one check waits for in a directory.
@EventLoop
final class FileWatch {
    nonisolated let directory: String
    /// An element for each time that the file may have changed; several changes may be one element.
    nonisolated let changes: AsyncStream<Void>
    private nonisolated let name: String
    private nonisolated let isPattern: Bool
    private let change: AsyncStream<Void>.Continuation
    /// The number of the kernel's watch of the directory, if there is one.
    var number: Int32?
    /// Whether the kernel is being asked to watch the directory.
    var isBeginning = false
    /// Whether nobody reads ``changes`` any more.
    private(set) var hasEnded = false
    /// Called when nobody does.
    var onEnd: @EventLoop () -> Void = {}

    /// - Parameters:
    ///   - path: the file's path.
    ///   - isPattern: whether its last part is a pattern of glob(7).
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

    /// Whether changes of a file of this name concern it.
    nonisolated func concerns(_ name: String) -> Bool {
        isPattern ? fnmatch(self.name, name, FNM_PERIOD) == 0 : self.name == name
    }

    /// Says that the file may have changed.
    func notify() { change.yield() }
}
