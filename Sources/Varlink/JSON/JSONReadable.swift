// SPDX-License-Identifier: Apache-2.0

/// A type that can be read from JSON.
public protocol JSONReadable {
    /// Reads the next value of the reader.
    init(from reader: inout JSONReader) throws(JSONError)
}

extension JSONReader {
    /// Reads a value of the requested type.
    @inlinable
    public mutating func value<Value: JSONReadable>(_ type: Value.Type = Value.self) throws(JSONError) -> Value {
        try Value(from: &self)
    }
}

extension String: JSONReadable {
    /// Reads a string.
    @inlinable
    public init(from reader: inout JSONReader) throws(JSONError) { self = try reader.string() }
}

extension Int: JSONReadable {
    /// Reads a whole number.
    @inlinable
    public init(from reader: inout JSONReader) throws(JSONError) { self = try reader.integer() }
}

extension Bool: JSONReadable {
    /// Reads `true` or `false`.
    @inlinable
    public init(from reader: inout JSONReader) throws(JSONError) { self = try reader.boolean() }
}

extension Double: JSONReadable {
    /// Reads a number.
    @inlinable
    public init(from reader: inout JSONReader) throws(JSONError) { self = try reader.number() }
}

extension Optional: JSONReadable where Wrapped: JSONReadable {
    /// Reads `null` or a value.
    @inlinable
    public init(from reader: inout JSONReader) throws(JSONError) {
        self = try reader.isNull() ? nil : Wrapped(from: &reader)
    }
}

extension Array: JSONReadable where Element: JSONReadable {
    /// Reads an array.
    @inlinable
    public init(from reader: inout JSONReader) throws(JSONError) {
        var elements: [Element] = []
        try reader.array { reader throws(JSONError) in
            elements.append(try Element(from: &reader))
        }
        self = elements
    }
}

extension Dictionary: JSONReadable where Key == String, Value: JSONReadable {
    /// Reads an object as a map from names to values.
    @inlinable
    public init(from reader: inout JSONReader) throws(JSONError) {
        var members: [String: Value] = [:]
        try reader.object { name, reader throws(JSONError) in
            members[name.text] = try Value(from: &reader)
        }
        self = members
    }
}
