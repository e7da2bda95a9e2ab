// SPDX-License-Identifier: Apache-2.0

/// A type with members: parameters, a reply, or a structure of an interface description.
public protocol JSONStructure: JSONReadable, JSONWritable, Sendable {
    /// Writes the members of the object.
    func writeMembers(to writer: inout JSONWriter)
}

extension JSONStructure {
    /// Writes an object.
    @inlinable
    public func write(to writer: inout JSONWriter) { writer.object { writeMembers(to: &$0) } }
}

/// The parameters or the reply of a method without any.
public struct NoMembers: JSONStructure, Hashable {
    /// Creates the empty value.
    public init() {}

    public init(from reader: inout JSONReader) throws(JSONError) {
        try reader.object { name, reader throws(JSONError) in try reader.unknownMember(name) }
    }

    public func writeMembers(to writer: inout JSONWriter) {}
}

/// An enumeration whose raw values are its JSON strings.
///
/// The raw values must be ASCII without escapes, as the names in an interface description are.
public protocol JSONEnumeration: JSONReadable, JSONWritable, RawRepresentable, CaseIterable, Hashable, Sendable
where RawValue == String {}

extension JSONEnumeration {
    /// Reads the raw value of a case.
    public init(from reader: inout JSONReader) throws(JSONError) {
        let text = try reader.string()
        guard text.utf8.allSatisfy({ $0 < 0x80 }), let value = Self(rawValue: text) else {
            throw reader.error(.type(expected: "\(Self.self)"))
        }
        self = value
    }

    /// Writes the raw value.
    @inlinable
    public func write(to writer: inout JSONWriter) { writer.plainString(rawValue) }
}
