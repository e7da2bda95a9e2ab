// SPDX-License-Identifier: Apache-2.0

import CCurl
import Glibc
import SourceKinds
import StatusModel
import StatusWorkers

/// The files with certificate authorities: whether one can be read, and whether libcurl may use what it has read
/// before.
struct Authorities {
    /// Distinguishes versions of a file.
    private struct Version: Equatable {
        var file: [UInt]
        var changedAt: [Int]

        init(_ status: stat) {
            file = [UInt(status.st_dev), UInt(status.st_ino), UInt(status.st_size)]
            changedAt = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec]
        }
    }

    /// The maximum size of a file, in bytes.
    private static let maximumBytes = 1 << 20
    /// How many seconds libcurl may keep the system's authorities while their file stays the same.
    private static let longestLifetime = 86_400

    /// The system's file, if there is one.
    private let systemFile: String?
    /// The version of that file before libcurl read it.
    private let systemVersion: Version?

    /// - Parameter systemFile: the file that libcurl reads for a request that names none.
    init(systemFile: String?) {
        self.systemFile = systemFile
        systemVersion = systemFile.flatMap { Self.status($0) }.map { Version($0) }
    }

    /// The number of seconds for which libcurl may keep or reuse the authorities of a request; 0 for neither.
    ///
    /// It keeps those of one file. Only the system's are worth that: reading them takes some 20 ms.
    ///
    /// - Throws: ``HTTPFailure`` if the file that a request names cannot be read; libcurl finds out whether it contains
    ///   certificates.
    func lifetime(for request: HTTPRequest) throws(HTTPFailure) -> Int {
        if let file = request.certificateAuthority {
            if request.isSecure { try Self.check(file) }
            return 0
        }
        let isCurrent = systemFile.flatMap { Self.status($0) }.map { Version($0) } == systemVersion
        return isCurrent ? Self.longestLifetime : 0
    }

    private static func check(_ path: String) throws(HTTPFailure) {
        // libcurl would wait for a pipe.
        if let status = status(path) {
            guard status.st_mode & S_IFMT == S_IFREG else { throw failure(path, "not a regular file") }
            guard status.st_size <= maximumBytes else {
                throw failure(path, "larger than \(maximumBytes / 1024) KiB")
            }
        }
        guard access(path, R_OK) == 0 else { throw failure(path, String(cString: strerror(errno)).asPhrase) }
    }

    private static func status(_ path: String) -> stat? {
        var status = stat()
        return stat(path, &status) == 0 ? status : nil
    }

    private static func failure(_ path: String, _ reason: String) -> HTTPFailure {
        HTTPFailure(reason: "cannot read certificates from \(path): \(reason)", isLocal: true)
    }
}
