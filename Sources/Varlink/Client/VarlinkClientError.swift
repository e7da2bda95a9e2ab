// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO

/// Why a service could not be asked, or its answer not be read.
///
/// What a service answers is a ``VarlinkError``.
public struct VarlinkClientError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What kind of failure it is.
    public enum Code: Sendable, Hashable {
        /// Nobody listens at the address.
        case noService
        /// This user may not connect.
        case permissionDenied
        /// The address is none.
        case invalidAddress
        /// The service has closed the connection, or the caller has.
        case closed
        /// The service has not answered in time.
        case timedOut
        /// The answer is not Varlink.
        case malformedReply
        /// Any other failure of the system.
        case system
    }

    /// What kind of failure it is.
    public let code: Code
    /// What happened, as a sentence without its full stop.
    public let description: String

    /// An error with a sentence of its own.
    public init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    /// The error of a connection that could not be made.
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
    static let upgraded = VarlinkClientError(.closed, "the connection was upgraded to another protocol")
    static let endlessStream = VarlinkClientError(
        .closed, "the connection was closed: a stream that nobody reads any more did not end")
    static let tooManyAbandoned = VarlinkClientError(
        .closed, "the connection was closed: the service has not answered too many cancelled calls")
    static let tooManyReplies = malformed("more replies than were asked for")

    /// The service does not speak Varlink, or not as the caller knows it.
    static func malformed(_ reason: String) -> VarlinkClientError {
        VarlinkClientError(.malformedReply, "the service's reply is not understood: \(reason)")
    }
}
