// SPDX-License-Identifier: Apache-2.0

/// An enumeration whose cases are written as their raw values; it needs no code of its own.
///
/// The raw values must be ASCII that needs no escapes, as the names of an interface description are.
public protocol JSONEnumeration: JSONReadable, JSONWritable, RawRepresentable, CaseIterable, Hashable, Sendable
where RawValue == String {}

extension JSONEnumeration {
    /// Reads the raw value of a case.
    @inlinable
    public init(from reader: inout JSONReader) throws(JSONError) {
        guard let value = Self(rawValue: try reader.string()) else { throw Self.mismatch(reader) }
        self = value
    }

    /// Writes the raw value.
    @inlinable
    public func write(to writer: inout JSONWriter) { writer.plainString(rawValue) }

    @usableFromInline
    static func mismatch(_ reader: borrowing JSONReader) -> JSONError { reader.error(.type(expected: "\(Self.self)")) }
}
