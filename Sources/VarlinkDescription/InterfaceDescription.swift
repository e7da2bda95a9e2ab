// SPDX-License-Identifier: Apache-2.0

/// An interface in Varlink's interface definition language (varlink.org/Interface-Definition).
public struct InterfaceDescription: Sendable, Hashable {
    /// A type in a description.
    public indirect enum DataType: Sendable, Hashable {
        case bool, int, float, string
        /// Any JSON value: `object`, or `any`.
        case object
        /// A type of this interface, by its name.
        case named(String)
        /// An array, and the type of its elements.
        case array(DataType)
        /// A map from strings, and the type of its values.
        case map(DataType)
        /// A value that may be null.
        case nullable(DataType)
        /// A structure, and its members.
        case structure([Field])
        /// An enumeration, and the names of its cases.
        case enumeration([String])
    }

    /// A member of a structure, a parameter of a method or an error.
    public struct Field: Sendable, Hashable {
        /// Its name.
        public let name: String
        /// Its type.
        public let type: DataType
        /// The comment above it, without its marks.
        public let documentation: String
    }

    /// A type, method or error.
    public struct Member: Sendable, Hashable {
        /// The kinds of members.
        public enum Kind: Sendable, Hashable {
            /// A type with a name.
            case type(DataType)
            /// A method, and the members of its calls and replies.
            case method(parameters: [Field], reply: [Field])
            /// An error, and its parameters.
            case error([Field])
        }

        /// Its name.
        public let name: String
        /// The comment above it, without its marks.
        public let documentation: String
        /// Its kind.
        public let kind: Kind
    }

    /// The text of the description, as a service returns it.
    public let text: String
    /// The interface's name.
    public let name: String
    /// The comment above the interface, without its marks.
    public let documentation: String
    /// Its types, methods and errors, in their order.
    public let members: [Member]

    /// Parses a description.
    ///
    /// - Throws: the first error and its position.
    public init(parsing text: String) throws(InterfaceDescriptionError) {
        var parser = DescriptionParser(try DescriptionToken.tokens(of: text))
        let interface = try parser.interface()
        self.text = text
        name = interface.name
        documentation = interface.documentation
        members = interface.members
    }

    /// Its methods.
    public var methods: [Member] { members.filter { if case .method = $0.kind { true } else { false } } }
}

/// An error in a description, and its position.
public struct InterfaceDescriptionError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The line, counted from 1.
    public let line: Int
    /// The column, counted from 1 in bytes.
    public let column: Int
    /// The error, in lower case and without a full stop.
    public let reason: String

    public var description: String { "line \(line), column \(column): \(reason)" }
}
