// SPDX-License-Identifier: Apache-2.0

/// What a call of an interface's methods may fail with: the errors of its description, and what can go wrong with any call.
///
/// The generator makes an enumeration of it for each interface.
public protocol InterfaceError: Error, Sendable {
    /// An error of `org.varlink.service`.
    static func service(_ error: ServiceError) -> Self
    /// An error reply that the description does not have, or not with these parameters.
    static func other(_ reply: VarlinkError) -> Self
    /// The service could not be called, or its reply could not be read.
    static func connection(_ error: VarlinkClientError) -> Self
    /// The task was cancelled.
    static var cancelled: Self { get }

    /// Reads an error reply of the interface's own; returns nil if it is none.
    ///
    /// - Throws: an error if the reply's parameters are not those of the description.
    static func own(_ reply: VarlinkError) throws(JSONError) -> Self?

    /// The error reply; nil for a failure that no service has replied.
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

    /// The error for what a call of ``VarlinkConnection`` has thrown.
    init(call error: any Error) {
        switch error {
        case let reply as VarlinkError: self.init(reply: reply)
        case let error as VarlinkClientError: self = .connection(error)
        case is CancellationError: self = .cancelled
        default: self = .connection(VarlinkClientError(.system, "\(error)"))
        }
    }
}
