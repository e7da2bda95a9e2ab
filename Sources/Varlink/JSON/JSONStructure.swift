// SPDX-License-Identifier: Apache-2.0

/// A type that is an object with members of its own: parameters, a reply, or a structure of an interface description.
public protocol JSONStructure: JSONReadable, JSONWritable, Sendable {
    /// Writes the members of the object that is being written.
    func writeMembers(to writer: inout JSONWriter)
}

extension JSONStructure {
    /// Writes an object.
    @inlinable
    public func write(to writer: inout JSONWriter) {
        writer.object { writeMembers(to: &$0) }
    }
}

/// No members: the parameters or the reply of a method that has none.
public struct NoMembers: JSONStructure, Hashable {
    /// No members.
    public init() {}

    public init(from reader: inout JSONReader) throws(JSONError) {
        try reader.object { name, reader throws(JSONError) in try reader.unknownMember(name) }
    }

    public func writeMembers(to writer: inout JSONWriter) {}
}
