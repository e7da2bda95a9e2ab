// SPDX-License-Identifier: Apache-2.0

public import Varlink

/// A message between the daemon and a worker: JSON, followed by a zero byte.
public enum WorkerMessage {
    /// The maximum length in bytes, which is much more than a sensible call or answer has.
    public static let maximumBytes = 512 * 1024
    /// The maximum length of what a worker sends: a plugin's output has no more than 16 KiB, and may become six times
    /// as long.
    public static let maximumAnswerBytes = 128 * 1024

    /// Encodes a value.
    public static func encode(_ value: some JSONWritable) -> [UInt8] {
        var writer = JSONWriter()
        writer.value(value)
        return writer.bytes + [0]
    }

    /// Decodes a message without its zero byte.
    ///
    /// - Throws: a `JSONError` if it is not a `Value`.
    public static func decode<Value: JSONReadable>(
        _ type: Value.Type = Value.self, from bytes: UnsafeRawBufferPointer
    ) throws(JSONError) -> Value {
        try JSONReader.read(bytes) { reader throws(JSONError) in try Value(from: &reader) }
    }
}

/// The first message of a worker: that it is ready, or why it never will be.
public struct WorkerGreeting: JSONReadable, JSONWritable, Sendable {
    /// Why it will not answer; nil if it is ready.
    public var refusal: String?

    /// Creates a greeting; one with a reason is the last message.
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
