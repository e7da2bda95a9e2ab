// SPDX-License-Identifier: Apache-2.0

public import Varlink

/// The bytes of a message between the daemon and a worker: JSON, and a zero byte behind it.
public enum PluginMessage {
    /// The longest message, in bytes: much more than an outcome or a command of a sensible length.
    public static let maximumBytes = 512 * 1024

    /// What a worker says when it is ready: a message without anything in it.
    public static let greeting: [UInt8] = [0]

    /// The bytes of `value`.
    public static func encode(_ value: some JSONWritable) -> [UInt8] {
        var writer = JSONWriter()
        writer.value(value)
        return writer.bytes + [0]
    }

    /// Takes the first message off `buffer`; nil if it is not complete yet.
    ///
    /// - Throws: a `JSONError` if it is not a `Value`.
    public static func take<Value: JSONReadable>(
        _ type: Value.Type = Value.self, from buffer: inout [UInt8]
    ) throws(JSONError) -> Value? {
        guard let end = buffer.firstIndex(of: 0) else { return nil }
        defer { buffer.removeSubrange(...end) }
        return try JSONReader.read(buffer[..<end]) { reader throws(JSONError) in try Value(from: &reader) }
    }
}
