// SPDX-License-Identifier: Apache-2.0

/// The errors with which a call of an interface's methods may fail.
///
/// The generator creates an enumeration for each interface, with the errors of the description and the errors of any
/// call.
public protocol InterfaceError: Error, Sendable {
    /// An error of `org.varlink.service`.
    static func service(_ error: ServiceError) -> Self
    /// An error reply that is not in the description, or has other parameters.
    static func other(_ reply: VarlinkError) -> Self
    /// The service could not be called, or its reply could not be read.
    static func connection(_ error: VarlinkClientError) -> Self
    /// The task was cancelled.
    static var cancelled: Self { get }

    /// Reads an error reply of this interface; returns nil for any other reply.
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

/// An error of the interface `org.varlink.service`, which every service has.
public enum ServiceError: Error, Sendable, Hashable {
    /// The service has no interface of this name.
    case interfaceNotFound(String)
    /// The interface has no method of this name.
    case methodNotFound(String)
    /// The service does not implement the method.
    case methodNotImplemented(String)
    /// The parameter is unknown, missing or of the wrong type.
    case invalidParameter(String)
    /// The caller has no permission.
    case permissionDenied
    /// The method answers only calls with `more`.
    case expectedMore

    /// The error reply.
    public var reply: VarlinkError {
        switch self {
        case .interfaceNotFound(let name): Self.reply("InterfaceNotFound", "interface", name)
        case .methodNotFound(let name): Self.reply("MethodNotFound", "method", name)
        case .methodNotImplemented(let name): Self.reply("MethodNotImplemented", "method", name)
        case .invalidParameter(let name): Self.reply("InvalidParameter", "parameter", name)
        case .permissionDenied: VarlinkError("org.varlink.service.PermissionDenied")
        case .expectedMore: VarlinkError("org.varlink.service.ExpectedMore")
        }
    }

    private static func reply(_ name: String, _ parameter: StaticString, _ value: String) -> VarlinkError {
        VarlinkError("org.varlink.service.\(name)") { $0.member(parameter, VarlinkError.shortened(value)) }
    }

    /// Reads an error reply; returns nil for an error of another interface.
    public init?(_ reply: VarlinkError) {
        switch reply.name {
        case "org.varlink.service.InterfaceNotFound": self = .interfaceNotFound(reply.text("interface") ?? "")
        case "org.varlink.service.MethodNotFound": self = .methodNotFound(reply.text("method") ?? "")
        case "org.varlink.service.MethodNotImplemented": self = .methodNotImplemented(reply.text("method") ?? "")
        case "org.varlink.service.InvalidParameter": self = .invalidParameter(reply.text("parameter") ?? "")
        case "org.varlink.service.PermissionDenied": self = .permissionDenied
        case "org.varlink.service.ExpectedMore": self = .expectedMore
        default: return nil
        }
    }
}
