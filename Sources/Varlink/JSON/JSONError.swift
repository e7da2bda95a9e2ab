// SPDX-License-Identifier: Apache-2.0

/// What is wrong with a JSON text, or with a value read from it, and where.
public struct JSONError: Error, Sendable, Equatable {
    /// The kinds of faults.
    ///
    /// Names of members are paths: `since.epoch` is the member `epoch` of the object that is the member `since`.
    public enum Reason: Sendable, Equatable {
        /// The text is not JSON (RFC 8259).
        case syntax
        /// Objects and arrays are nested deeper than the reader allows.
        case depth
        /// The text is not UTF-8, or an escape names half of a surrogate pair.
        case encoding
        /// An object has two members of this name.
        case duplicateMember(String)
        /// The value is JSON, but not of the kind asked for.
        case type(expected: String)
        /// The number does not fit into the type asked for.
        case number
        /// The object has a member the type does not know.
        case unknownMember(String)
        /// The object lacks a member.
        case missingMember(String)
        /// The member's value is of another kind than the type needs, or out of its range.
        case invalidMember(String)
    }

    /// The kind of fault.
    public var reason: Reason
    /// How many bytes into the text the fault was noticed.
    public var offset: Int

    /// Makes an error.
    public init(_ reason: Reason, offset: Int = 0) {
        self.reason = reason
        self.offset = offset
    }

    /// The error for a member that a type needs and that was not there.
    public static func missingMember(_ name: String) -> JSONError { JSONError(.missingMember(name)) }

    /// The error for a member that a type does not know.
    public static func unknownMember(_ name: String) -> JSONError { JSONError(.unknownMember(name)) }

    /// The path of the member at fault, where the text is JSON and one member is to blame.
    public var member: String? {
        switch reason {
        case .unknownMember(let name), .missingMember(let name), .invalidMember(let name): name
        case .syntax, .depth, .encoding, .duplicateMember, .type, .number: nil
        }
    }

    /// The same error, seen from the object that has the value at fault as its member `name`.
    func inside(_ name: String) -> JSONError {
        let reason: Reason =
            switch reason {
            case .type, .number: .invalidMember(name)
            case .unknownMember(let inner): .unknownMember(name + "." + inner)
            case .missingMember(let inner): .missingMember(name + "." + inner)
            case .invalidMember(let inner): .invalidMember(name + "." + inner)
            case .syntax, .depth, .encoding, .duplicateMember: reason
            }
        return JSONError(reason, offset: offset)
    }
}

extension JSONError: CustomStringConvertible {
    /// A sentence without its full stop.
    public var description: String {
        let text =
            switch reason {
            case .syntax: "invalid JSON"
            case .depth: "nested too deeply"
            case .encoding: "invalid UTF-8"
            case .duplicateMember(let name): "duplicate member “\(name)”"
            case .type(let expected): "not of type \(expected)"
            case .number: "number out of range"
            case .unknownMember(let name): "unknown member “\(name)”"
            case .missingMember(let name): "missing member “\(name)”"
            case .invalidMember(let name): "invalid value of member “\(name)”"
            }
        return "\(text) (byte \(offset))"
    }
}
