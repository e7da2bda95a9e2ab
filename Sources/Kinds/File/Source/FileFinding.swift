// SPDX-License-Identifier: Apache-2.0

import Glibc
import SourceKinds
import StatusModel
import StatusWorkers

/// The result of looking up a path.
enum FileFinding: Sendable, Equatable {
    case found(FoundFile)
    case missing
    /// The path cannot be accessed, for this reason.
    case unknown(String)

    /// Finds the file at a path, or the newest file that matches a pattern; may block on a disk.
    static func find(_ settings: FileSettings) -> FileFinding {
        settings.hasPattern ? newest(of: settings) : find(settings.path)
    }

    private static func find(_ path: UnsafePointer<CChar>) -> FileFinding {
        var status = stat()
        if stat(path, &status) == 0 { return .found(file(path, status)) }
        return failure(errno)
    }

    private static func file(_ path: UnsafePointer<CChar>, _ status: stat) -> FoundFile {
        FoundFile(
            path: String(cString: path), changedAt: Timestamp(status.st_mtim), size: Int(status.st_size),
            isRegular: status.st_mode & S_IFMT == S_IFREG)
    }

    private static func failure(_ number: Int32) -> FileFinding {
        number == ENOENT || number == ENOTDIR ? .missing : .unknown(SystemErrorText.text(of: number))
    }

    /// Returns the newest matching regular file; if there is none, the reason why one of the matches is inaccessible.
    private static func newest(of settings: FileSettings) -> FileFinding {
        var matches = glob_t()
        defer { globfree(&matches) }
        switch glob(settings.path, GLOB_NOSORT, nil, &matches) {
        case 0: break
        case GLOB_NOMATCH: return whyNothing(matches: settings)
        default: return failure(ENOMEM)
        }
        var newest = FileFinding.missing
        for index in 0..<Int(matches.gl_pathc) {
            guard let path = matches.gl_pathv[index] else { continue }
            switch (find(path), newest) {
            case (.found(let file), _) where !file.isRegular: break
            case (.found(let file), .found(let other)) where file.changedAt <= other.changedAt: break
            // A file that has been removed in the meantime does not count.
            case (.missing, _), (.unknown, .found), (.unknown, .unknown): break
            case (let finding, _): newest = finding
            }
        }
        return newest
    }

    /// Distinguishes a pattern without matches from a directory that cannot be read.
    private static func whyNothing(matches settings: FileSettings) -> FileFinding {
        if settings.hasPatternInDirectory { return .missing }
        let directory = settings.path.lastIndex(of: "/").map { String(settings.path[...$0]) } ?? "/"
        return faccessat(AT_FDCWD, directory, R_OK | X_OK, AT_EACCESS) == 0 ? .missing : failure(errno)
    }
}

struct FoundFile: Sendable, Equatable {
    var path: String
    /// The time when the content last changed.
    var changedAt: Timestamp
    /// The size in bytes.
    var size: Int
    /// Whether this is a regular file or a link to one; false for a directory, for example.
    var isRegular = true

    /// The last component of the path.
    var name: Substring { path.split(separator: "/").last ?? "/" }
}

extension Timestamp {
    /// Creates the nearest time that can be expressed, because a file may have any time.
    init(_ time: timespec) {
        let seconds = min(
            max(Int64(time.tv_sec), Self.expressible.lowerBound / 1000), Self.expressible.upperBound / 1000)
        self.init(milliseconds: seconds * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
