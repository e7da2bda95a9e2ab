// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO

/// An error that a service did not send: it cannot be reached, or its reply cannot be read.
///
/// An error that the service sent is a ``VarlinkError``.
public struct VarlinkClientError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of failure.
    public enum Code: Sendable, Hashable {
        /// No service listens at the address.
        case noService
        /// This user may not connect.
        case permissionDenied
        /// The address is invalid.
        case invalidAddress
        /// The service or the caller closed the connection.
        case closed
        /// The service did not answer in time.
        case timedOut
        /// The reply is not valid.
        case malformedReply
        /// Any other error of the system.
        case system
    }

    /// The kind of failure.
    public let code: Code
    /// The message, in lower case and without a full stop.
    public let description: String

    /// Creates an error.
    public init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    /// Converts an error from connecting.
    public init(_ error: IOError) {
        let code: Code =
            switch error.code {
            case .notFound, .connectionRefused: .noService
            case .timedOut: .timedOut
            case .permissionDenied: .permissionDenied
            case .invalidAddress, .pathTooLong, .notASocket: .invalidAddress
            default: .system
            }
        self.init(code, error.message)
    }

    static let closed = VarlinkClientError(.closed, "the service closed the connection")
    static let closedByCaller = VarlinkClientError(.closed, "the connection was closed")
    static let endlessStream = VarlinkClientError(
        .closed, "the connection was closed: an abandoned stream did not end")
    static let tooManyAbandoned = VarlinkClientError(
        .closed, "the connection was closed: too many cancelled calls are unanswered")
    static let tooManyReplies = malformed("more replies than requested")

    /// The reply is not Varlink, or not what the caller expects.
    static func malformed(_ reason: String) -> VarlinkClientError {
        VarlinkClientError(.malformedReply, "invalid reply from the service: \(reason)")
    }
}
