// SPDX-License-Identifier: Apache-2.0

import Glibc
import SourceKinds
import StatusModel

/// What there is at a path.
enum FileFinding: Sendable, Equatable {
    case found(FoundFile)
    case missing
    /// It cannot be known, for this reason.
    case unknown(String)

    /// Looks at a path, or at the files that match a pattern; may wait as long as a disk does.
    static func look(at settings: FileSettings) -> FileFinding {
        settings.hasPattern ? newest(of: settings.path) : look(at: settings.path)
    }

    private static func look(at path: String) -> FileFinding {
        var status = stat()
        if stat(path, &status) == 0 { return .found(FoundFile(path, status)) }
        return errno == ENOENT || errno == ENOTDIR ? .missing : .unknown(String(cString: strerror(errno)))
    }

    private static func newest(of pattern: String) -> FileFinding {
        var matches = glob_t()
        defer { globfree(&matches) }
        let failure = glob(pattern, GLOB_NOSORT | GLOB_ERR, nil, &matches)
        let reason = errno
        guard failure == 0 || failure == GLOB_NOMATCH else {
            if failure == GLOB_ABORTED, reason == ENOENT || reason == ENOTDIR { return .missing }
            return .unknown(String(cString: strerror(failure == GLOB_NOSPACE ? ENOMEM : reason)))
        }
        let paths = (0..<Int(matches.gl_pathc)).lazy.compactMap { matches.gl_pathv[$0].map { String(cString: $0) } }
        // One that is removed meanwhile is not there.
        let files = paths.compactMap { path in if case .found(let file) = look(at: path) { file } else { nil } }
        return files.max { $0.changedAt < $1.changedAt }.map { .found($0) } ?? .missing
    }
}

/// A file as it was found.
struct FoundFile: Sendable, Equatable {
    var path: String
    /// When its content was changed last.
    var changedAt: Timestamp
    /// In bytes.
    var size: Int

    init(path: String, changedAt: Timestamp, size: Int) {
        self.path = path
        self.changedAt = changedAt
        self.size = size
    }

    init(_ path: String, _ status: stat) {
        self.init(path: path, changedAt: Timestamp(status.st_mtim), size: Int(status.st_size))
    }

    /// The last part of its path.
    var name: Substring { path.split(separator: "/").last ?? "/" }
}

extension Timestamp {
    init(_ time: timespec) {
        self.init(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
