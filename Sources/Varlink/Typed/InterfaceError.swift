// SPDX-License-Identifier: Apache-2.0

/// The errors with which a call of an interface's methods may fail.
///
/// The generator creates an enumeration for each interface. It has the errors of the description, and those that any
/// call can have.
public protocol InterfaceError: Error, Sendable {
    /// An error of `org.varlink.service`.
    static func service(_ error: ServiceError) -> Self
    /// An error reply that is not in the description, or has other parameters.
    static func other(_ reply: VarlinkError) -> Self
    /// The service could not be called, or its reply could not be read.
    static func connection(_ error: VarlinkClientError) -> Self
    /// The task was cancelled.
    static var cancelled: Self { get }

    /// Reads an error reply of this interface; returns nil for any other.
    ///
    /// - Throws: an error if the reply's parameters do not match the description.
    static func own(_ reply: VarlinkError) throws(JSONError) -> Self?

    /// The error reply; nil if the failure is not one.
    var reply: VarlinkError? { get }
}

extension InterfaceError {
    /// Reads an error reply.
    public init(reply: VarlinkError) {
        do throws(JSONError) {
            if let own = try Self.own(reply) {
                self = own
            } else {
                self = ServiceError(reply).map { .service($0) } ?? .other(reply)
            }
        } catch {
            self = .other(reply)
        }
    }

    /// Converts an error of a call of ``VarlinkConnection``.
    init(call error: any Error) {
        switch error {
        case let reply as VarlinkError: self.init(reply: reply)
        case let error as VarlinkClientError: self = .connection(error)
        case is CancellationError: self = .cancelled
        default: self = .connection(VarlinkClientError(.system, "\(error)"))
        }
    }
}
