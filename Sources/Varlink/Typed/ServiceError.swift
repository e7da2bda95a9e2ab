// SPDX-License-Identifier: Apache-2.0

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
        case .interfaceNotFound(let name): .interfaceNotFound(name)
        case .methodNotFound(let name): .methodNotFound(name)
        case .methodNotImplemented(let name): .methodNotImplemented(name)
        case .invalidParameter(let name): .invalidParameter(name)
        case .permissionDenied: .permissionDenied
        case .expectedMore: .expectedMore
        }
    }

    /// Reads an error reply; returns nil if it is not one of these.
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
