// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusModel
import Systemd

/// Reads files of authorities before libcurl does: it reads them on the loop, which must wait for no disk and no pipe.
@EventLoop
final class AuthorityFiles {
    private typealias End = @Sendable (HTTPFailure?) -> Void

    /// The largest file, in bytes; to take over what is in one of this size takes libcurl tens of milliseconds.
    private nonisolated static let maximumBytes = 1 << 20
    /// More checks than these do not wait for one file.
    private static let maximumWaiting = 1024

    /// Who waits for a file that is being read, by its path.
    private var waiting: [String: [End]] = [:]

    /// Reads the file at `path`, so that it is in memory; those who ask meanwhile share this.
    ///
    /// - Throws: ``HTTPFailure`` if it is not a file that can be read in time; that it is missing is left to libcurl to say.
    func read(_ path: String, within limit: Duration) async throws(HTTPFailure) {
        let failure: HTTPFailure??
        if waiting[path, default: []].count < Self.maximumWaiting {
            failure = await TimedWait.run(within: limit) { wait(for: path, $0) }
        } else {
            failure = nil
        }
        guard let failure else { throw Self.failure(path, "timed out after \(TimeSpan.text(limit))") }
        if let failure { throw failure }
    }

    private func wait(for path: String, _ end: @escaping End) {
        waiting[path, default: []].append(end)
        guard waiting[path]?.count == 1 else { return }
        BlockingThread.start {
            let failure = Self.read(path)
            EventLoop.perform { for end in self.waiting.removeValue(forKey: path) ?? [] { end(failure) } }
        }
    }

    private nonisolated static func read(_ path: String) -> HTTPFailure? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        let file = OwnedDescriptor(adopting: descriptor)
        var status = stat()
        guard fstat(file.rawValue, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            return failure(path, "it is not a regular file")
        }
        guard status.st_size <= maximumBytes else {
            return failure(path, "it is larger than \(maximumBytes / 1024) KiB")
        }
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        while Glibc.read(file.rawValue, &chunk, chunk.count) > 0 {}
        return nil
    }

    private nonisolated static func failure(_ path: String, _ reason: String) -> HTTPFailure {
        HTTPFailure(reason: "cannot read certificates from \(path): \(reason)")
    }
}
