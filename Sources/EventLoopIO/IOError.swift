// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Describes why a call of the operating system or of libsystemd failed.
public struct IOError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure; code decides by this, never by the message.
    public enum Code: Sendable, Hashable {
        /// Another process uses the address.
        case addressInUse
        /// The file at the path is not a socket.
        case notASocket
        /// The path has more than 107 bytes, a socket's limit.
        case pathTooLong
        /// The text is not the address of a Unix socket.
        case invalidAddress
        /// The path or host does not exist.
        case notFound
        /// No process listens at the address.
        case connectionRefused
        /// This user lacks permission.
        case permissionDenied
        /// The call took too long, or would have blocked.
        case timedOut
        /// Descriptors, memory or ports have run out for now.
        case exhausted
        /// Another failure of a system call; see `errno`.
        case systemCall
    }

    /// The kind of failure.
    public let code: Code
    /// One sentence that says what failed and, if known, what to do.
    public let message: String
    /// The error number, or 0 if there is none.
    public let errno: Int32

    /// Creates an error with its message.
    public init(_ code: Code, _ message: String, errno: Int32 = 0) {
        self.code = code
        self.message = message
        self.errno = errno
    }

    /// Creates the error of a system call from its error number and a description of the attempt.
    public init(errno number: Int32, _ attempt: String) {
        let code: Code =
            switch number {
            case EADDRINUSE: .addressInUse
            case ENOENT, ENOTDIR: .notFound
            case ECONNREFUSED: .connectionRefused
            case EACCES, EPERM, EROFS: .permissionDenied
            case ETIMEDOUT, EAGAIN: .timedOut
            case EMFILE, ENFILE, ENOMEM, ENOBUFS, EADDRNOTAVAIL: .exhausted
            case ENAMETOOLONG: .pathTooLong
            default: .systemCall
            }
        self.init(code, "\(attempt): \(String(cString: strerror(number)))", errno: number)
    }

    public var description: String { message }
}
