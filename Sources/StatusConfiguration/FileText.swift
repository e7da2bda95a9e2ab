// SPDX-License-Identifier: Apache-2.0

import Glibc
import SourceKinds

enum FileText {
    /// The maximum size of a file, in bytes.
    static let maximumLength = 1024 * 1024

    /// Reads a file, without waiting for the writer of a pipe.
    ///
    /// - Throws: a ``Problem`` if it cannot be read or is not text.
    static func read(_ path: String) throws(Problem) -> String {
        func problem(_ reason: String) -> Problem { Problem(.error, at: Origin(file: path), reason: reason) }
        // Without O_NONBLOCK, a named pipe without a writer would block the daemon indefinitely.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Problem(unreadable: path, errno: errno) }
        defer { close(descriptor) }
        var status = stat()
        // A link to /dev/null counts as an empty file (UAPI.6).
        var null = stat()
        guard fstat(descriptor, &status) == 0, stat("/dev/null", &null) == 0,
            status.st_mode & S_IFMT == S_IFREG || status.st_rdev == null.st_rdev
        else { throw problem("not a regular file") }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw problem("cannot read it: \(String(cString: strerror(errno)))") }
            if count == 0 { break }
            bytes += chunk[..<count]
            if bytes.count > maximumLength { throw problem("larger than 1 MiB") }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            let line = firstLineNotUTF8(bytes)
            throw Problem(.error, at: Origin(file: path, line: line), reason: "invalid UTF-8; save the file as UTF-8")
        }
        return text
    }

    private static func firstLineNotUTF8(_ bytes: [UInt8]) -> Int? {
        // In UTF-8, the byte of a newline is not part of any other character.
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        return lines.firstIndex { String(validating: $0, as: UTF8.self) == nil }.map { $0 + 1 }
    }
}

extension Problem {
    /// Creates the error for an unreadable file or directory, with advice.
    init(unreadable path: String, errno number: Int32) {
        let reason =
            switch number {
            case EACCES:
                "\(String(cString: strerror(number))); make it readable for the user that statusd runs as, "
                    + "and run “sudo statusctl verify \(path)”"
            case ENOENT where Self.isLink(path): "it is a link to a path that does not exist or is hidden from statusd"
            default: String(cString: strerror(number))
            }
        self.init(.error, at: Origin(file: path), reason: "cannot read it: \(reason)")
        isPermissionDenied = number == EACCES
    }

    private static func isLink(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
    }
}
