// SPDX-License-Identifier: Apache-2.0

/// An enumeration whose raw values are its JSON strings.
///
/// The raw values must be ASCII without escapes, as the names in an interface description are.
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
