// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Why the operating system, or libsystemd, did not do what it was asked.
public struct IOError: Error, Sendable, CustomStringConvertible {
    /// What kind of failure it is; decide by this, never by the message.
    public enum Code: Sendable, Hashable {
        /// A living process listens there already.
        case addressInUse
        /// What stands at the path is no socket.
        case notASocket
        /// The path is longer than a socket's may be (107 bytes).
        case pathTooLong
        /// The text is no address of a Unix socket.
        case invalidAddress
        /// There is nothing at the path.
        case notFound
        /// Nobody listens there.
        case connectionRefused
        /// This user may not.
        case permissionDenied
        /// It took too long.
        case timedOut
        /// Descriptors, memory or ports to connect from have run out, for now.
        case exhausted
        /// Any other failure of a system call; `errno` tells which.
        case systemCall
    }

    /// What kind of failure it is.
    public let code: Code
    /// One sentence that says what failed and, where that is known, what to do.
    public let message: String
    /// The error number, 0 where there is none.
    public let errno: Int32

    /// An error with a message of its own.
    public init(_ code: Code, _ message: String, errno: Int32 = 0) {
        self.code = code
        self.message = message
        self.errno = errno
    }

    /// The error of a system call: what was tried, then what the system says about it.
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
