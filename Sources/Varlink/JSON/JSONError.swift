// SPDX-License-Identifier: Apache-2.0

/// An error in a JSON text or in a value read from it, and its offset.
public struct JSONError: Error, Sendable, Equatable {
    /// The kinds of errors.
    ///
    /// Names of members are paths: `since.epoch` is the member `epoch` of the object in the member `since`.
    public enum Reason: Sendable, Equatable {
        /// The text is not JSON (RFC 8259).
        case syntax
        /// Objects and arrays are nested deeper than the reader allows.
        case depth
        /// The text is not UTF-8, or an escape names half of a surrogate pair.
        case encoding
        /// The value has another type than requested.
        case type(expected: String)
        /// The number does not fit into the requested type.
        case number
        /// The type has no such member.
        case unknownMember(String)
        /// The object lacks a member.
        case missingMember(String)
        /// The member's value has the wrong type, or is out of range.
        case invalidMember(String)
    }

    /// The kind of error.
    public var reason: Reason
    /// The offset in bytes at which the error was noticed.
    public var offset: Int

    /// Creates an error.
    public init(_ reason: Reason, offset: Int = 0) {
        self.reason = reason
        self.offset = offset
    }

    /// The error for a missing member.
    public static func missingMember(_ name: String) -> JSONError { JSONError(.missingMember(name)) }

    /// The error for an unknown member.
    public static func unknownMember(_ name: String) -> JSONError { JSONError(.unknownMember(name)) }

    /// The path of the member that has the error; nil if the text is not JSON or the error is not in a member.
    public var member: String? {
        switch reason {
        case .unknownMember(let name), .missingMember(let name), .invalidMember(let name): name
        case .syntax, .depth, .encoding, .type, .number: nil
        }
    }

    /// Returns the error of an object whose member `name` has this error.
    func inside(_ name: String) -> JSONError {
        let reason: Reason =
            switch reason {
            case .type, .number: .invalidMember(name)
            case .unknownMember(let inner): .unknownMember(name + "." + inner)
            case .missingMember(let inner): .missingMember(name + "." + inner)
            case .invalidMember(let inner): .invalidMember(name + "." + inner)
            case .syntax, .depth, .encoding: reason
            }
        return JSONError(reason, offset: offset)
    }
}

extension JSONError: CustomStringConvertible {
    /// The error as a phrase in lower case.
    public var description: String {
        let text =
            switch reason {
            case .syntax: "invalid JSON"
            case .depth: "nested too deeply"
            case .encoding: "invalid UTF-8"
            case .type(let expected): "not of type \(expected)"
            case .number: "number out of range"
            case .unknownMember(let name): "unknown member “\(name)”"
            case .missingMember(let name): "missing member “\(name)”"
            case .invalidMember(let name): "invalid value of member “\(name)”"
            }
        return "\(text) (byte \(offset))"
    }
}
