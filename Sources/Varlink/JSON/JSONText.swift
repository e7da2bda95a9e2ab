// SPDX-License-Identifier: Apache-2.0

/// Any JSON value, as its text: the type `object` of an interface description.
public struct JSONText: JSONReadable, JSONWritable, Hashable, Sendable {
    /// The bytes of one JSON value.
    public let bytes: [UInt8]

    /// The text of `value`.
    public init(_ value: some JSONWritable) {
        var writer = JSONWriter()
        writer.value(value)
        bytes = writer.bytes
    }

    /// Reads any value.
    public init(from reader: inout JSONReader) throws(JSONError) { bytes = try reader.raw() }

    /// Writes the text.
    public func write(to writer: inout JSONWriter) { writer.raw(bytes) }

    /// Reads the value as another type.
    public func value<Value: JSONReadable>(_ type: Value.Type = Value.self) throws(JSONError) -> Value {
        try JSONReader.read(bytes) { reader throws(JSONError) in try Value(from: &reader) }
    }
}

extension Set: JSONReadable where Element == String {
    /// Reads an object as the set of its members' names: the type `[string]()` of an interface description.
    public init(from reader: inout JSONReader) throws(JSONError) {
        var elements: Set<String> = []
        try reader.object { name, reader throws(JSONError) in
            elements.insert(name.text)
            _ = try NoMembers(from: &reader)
        }
        self = elements
    }
}

extension Set: JSONWritable where Element == String {
    /// Writes an object with an empty object for each element, in sorted order.
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            for element in sorted() { writer.member(named: element, NoMembers()) }
        }
    }
}
