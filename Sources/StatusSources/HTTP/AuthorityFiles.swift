// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusModel
import Systemd

/// Reads files of authorities before libcurl does: it reads them on the loop, which must wait for no disk and no pipe.
///
/// Tells libcurl, too, when it has to read one again, since it is another.
@EventLoop
final class AuthorityFiles {
    private typealias End = @Sendable (Result<Version, HTTPFailure>) -> Void

    /// What tells one version of a file from another.
    private struct Version: Sendable, Equatable {
        var device: UInt = 0
        var file: UInt = 0
        var size = 0
        var changedAt: [Int] = []
    }

    /// The largest file, in bytes; to take over what is in one of this size takes libcurl tens of milliseconds.
    private nonisolated static let maximumBytes = 1 << 20
    /// More checks than these do not wait for one file.
    private static let maximumWaiting = 1024

    /// Who waits for a file that is being read, by its path.
    private var waiting: [String: [End]] = [:]
    /// The version of a file that was read last, and when it was first seen, by its path.
    private var known: [String: (version: Version, since: SuspendingClock.Instant)] = [:]

    /// Reads the file at `path`, so that it is in memory; those who ask meanwhile share this.
    ///
    /// - Returns: how many seconds old what libcurl has read of it may be: older is of another version.
    /// - Throws: ``HTTPFailure`` if it is not a file that can be read in time; that it is missing is left to libcurl to say.
    func read(_ path: String, within limit: Duration) async throws(HTTPFailure) -> Int {
        let result: Result<Version, HTTPFailure>?
        if waiting[path, default: []].count < Self.maximumWaiting {
            result = await TimedWait.run(within: limit) { wait(for: path, $0) }
        } else {
            result = nil
        }
        guard let result else { throw Self.failure(path, "timed out after \(TimeSpan.text(limit))") }
        let version = try result.get()
        let before = known[path]?.version
        if before != version {
            known[path] = (version, .now)
            // libcurl counts in seconds, and takes 0 for never: what it has read just now must be a second old.
            if before != nil { try? await EventLoop.sleep(for: .seconds(1)) }
        }
        return max(1, Int(known[path]?.since.duration(to: .now).components.seconds ?? 0))
    }

    private func wait(for path: String, _ end: @escaping End) {
        waiting[path, default: []].append(end)
        guard waiting[path]?.count == 1 else { return }
        let before = known[path]?.version
        BlockingThread.start {
            let result = Self.read(path, before: before)
            EventLoop.perform { for end in self.waiting.removeValue(forKey: path) ?? [] { end(result) } }
        }
    }

    private nonisolated static func read(_ path: String, before: Version?) -> Result<Version, HTTPFailure> {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return .success(Version()) }
        let file = OwnedDescriptor(adopting: descriptor)
        var status = stat()
        guard fstat(file.rawValue, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            return .failure(failure(path, "it is not a regular file"))
        }
        guard status.st_size <= maximumBytes else {
            return .failure(failure(path, "it is larger than \(maximumBytes / 1024) KiB"))
        }
        let version = Version(
            device: UInt(status.st_dev), file: UInt(status.st_ino), size: Int(status.st_size),
            changedAt: [status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec])
        if version == before { return .success(version) }
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        while Glibc.read(file.rawValue, &chunk, chunk.count) > 0 {}
        return .success(version)
    }

    private nonisolated static func failure(_ path: String, _ reason: String) -> HTTPFailure {
        HTTPFailure(reason: "cannot read certificates from \(path): \(reason)")
    }
}
