// SPDX-License-Identifier: Apache-2.0

import CCurl
import CLinux
import Glibc
import SourceKinds
import StatusModel

/// Checks the files with certificate authorities: readability, and whether libcurl may reuse what it has read.
struct Authorities {
    /// The maximum size of a file, in bytes.
    private static let maximumBytes = 1 << 20
    /// How many seconds libcurl may keep the system's authorities while their file is unchanged.
    private static let longestLifetime = 86_400

    /// The system's file, if any.
    private let systemFile: String?
    /// The version of the system's file before libcurl read it.
    private let systemVersion: [Int]?

    /// - Parameter systemFile: the file that libcurl reads for a request that names none.
    init(systemFile: String?) {
        self.systemFile = systemFile
        systemVersion = systemFile.flatMap(Self.version)
    }

    /// Returns how many seconds libcurl may keep or reuse the authorities of a request; 0 for neither.
    ///
    /// libcurl keeps the authorities of one file. Only the system's are kept, because reading them takes about 20 ms.
    ///
    /// - Throws: ``HTTPFailure`` if the request's own file cannot be read. libcurl checks that it contains
    ///   certificates.
    func lifetime(for request: HTTPRequest) throws(HTTPFailure) -> Int {
        if let file = request.certificateAuthority {
            if request.isSecure { try Self.check(file) }
            return 0
        }
        let isCurrent = systemFile.flatMap(Self.version) == systemVersion
        return isCurrent ? Self.longestLifetime : 0
    }

    private static func check(_ path: String) throws(HTTPFailure) {
        if let reason = HiddenFolders.current.reason(for: path) { throw failure(path, reason) }
        // libcurl would wait for the writer of a pipe.
        if let status = status(path) {
            guard status.st_mode & S_IFMT == S_IFREG else { throw failure(path, "not a regular file") }
            guard status.st_size <= maximumBytes else { throw failure(path, "larger than \(maximumBytes / 1024) KiB") }
        }
        guard access(path, R_OK) == 0 else { throw failure(path, String(cString: strerror(errno)).asPhrase) }
    }

    private static func status(_ path: String) -> stat? {
        var status = stat()
        return stat(path, &status) == 0 ? status : nil
    }

    /// Identifies the version of a file: its device, number, size and times.
    private static func version(_ path: String) -> [Int]? {
        guard let status = status(path) else { return nil }
        let (modified, changed) = (status.st_mtim, status.st_ctim)
        return [Int(bitPattern: UInt(status.st_dev)), Int(bitPattern: UInt(status.st_ino)), Int(status.st_size)]
            + [modified.tv_sec, modified.tv_nsec, changed.tv_sec, changed.tv_nsec]
    }

    private static func failure(_ path: String, _ reason: String) -> HTTPFailure {
        HTTPFailure(reason: "cannot read certificates from \(path): \(reason)", isLocal: true)
    }
}
