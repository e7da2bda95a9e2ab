// SPDX-License-Identifier: Apache-2.0

/// A type that can be written as JSON.
public protocol JSONWritable {
    /// Writes one value.
    func write(to writer: inout JSONWriter)
}

extension String: JSONWritable {
    /// Writes a string.
    public func write(to writer: inout JSONWriter) { writer.string(self) }
}

extension Int: JSONWritable {
    /// Writes a whole number.
    public func write(to writer: inout JSONWriter) { writer.integer(self) }
}

extension Bool: JSONWritable {
    /// Writes `true` or `false`.
    @inlinable
    @inline(__always)
    public func write(to writer: inout JSONWriter) {
        writer.comma()
        if self { writer.output.append("true") } else { writer.output.append("false") }
        writer.needsComma = true
    }
}

extension Double: JSONWritable {
    /// Writes the shortest number that reads back as the same value.
    ///
    /// Infinity and not-a-number, which JSON lacks, become `null`.
    public func write(to writer: inout JSONWriter) {
        writer.comma()
        if isFinite {
            var text = description
            text.withUTF8 { writer.output.append($0) }
        } else {
            writer.output.append("null")
        }
        writer.needsComma = true
    }
}

extension Optional: JSONWritable where Wrapped: JSONWritable {
    /// Writes the value, or `null`.
    @inlinable
    public func write(to writer: inout JSONWriter) {
        if let self {
            self.write(to: &writer)
        } else {
            writer.null()
        }
    }
}

extension Array: JSONWritable where Element: JSONWritable {
    /// Writes an array.
    @inlinable
    public func write(to writer: inout JSONWriter) {
        writer.array { writer in
            for element in self { element.write(to: &writer) }
        }
    }
}

extension Dictionary: JSONWritable where Key == String, Value: JSONWritable {
    /// Writes an object with its members sorted by name.
    ///
    /// Equal maps therefore have equal texts.
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            for (name, value) in sorted(by: { $0.key < $1.key }) { writer.member(named: name, value) }
        }
    }
}
