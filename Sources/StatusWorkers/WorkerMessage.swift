// SPDX-License-Identifier: Apache-2.0

public import Varlink

/// A message between the daemon and a worker: JSON, and a zero byte behind it.
public enum WorkerMessage {
    /// The longest message, in bytes: much more than an answer or a call of a sensible length.
    public static let maximumBytes = 512 * 1024

    /// The bytes of `value`.
    public static func encode(_ value: some JSONWritable) -> [UInt8] {
        var writer = JSONWriter()
        writer.value(value)
        return writer.bytes + [0]
    }

    /// The value of a message without the byte behind it.
    ///
    /// - Throws: a `JSONError` if it is not a `Value`.
    public static func decode<Value: JSONReadable>(
        _ type: Value.Type = Value.self, from bytes: UnsafeRawBufferPointer
    ) throws(JSONError) -> Value {
        try JSONReader.read(bytes) { reader throws(JSONError) in try Value(from: &reader) }
    }
}

/// The first thing that a worker says: that it is ready, or why it never will be.
public struct WorkerGreeting: JSONReadable, JSONWritable, Sendable {
    /// Why there will be no answers; nil if it is ready.
    public var refusal: String?

    /// A greeting; with a reason it is the last thing that is said.
    public init(refusal: String? = nil) { self.refusal = refusal }

    public init(from reader: inout JSONReader) throws(JSONError) {
        try reader.object { name, reader throws(JSONError) in
            guard name == "refusal" else { throw .unknownMember(name) }
            refusal = try String(from: &reader)
        }
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { $0.member("refusal", refusal) }
    }
}
