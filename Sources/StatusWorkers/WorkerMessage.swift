// SPDX-License-Identifier: Apache-2.0

import Glibc
public import Varlink

/// A message between the daemon and a worker: JSON, followed by a zero byte.
public enum WorkerMessage {
    /// The maximum length in bytes; calls and answers are much shorter.
    public static let maximumBytes = 512 * 1024
    /// The maximum length of a worker's message in bytes.
    ///
    /// A plugin's output has up to 16 KiB, which JSON's escapes may make six times as long.
    public static let maximumAnswerBytes = 128 * 1024

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

/// The first message of a worker: it is ready, or cannot start for some reason.
public struct WorkerGreeting: JSONStructure {
    /// The reason why the worker takes no calls; nil if it is ready.
    public var refusal: String?

    /// Creates a greeting; after a refusal, no other message follows.
    public init(refusal: String? = nil) { self.refusal = refusal }

    public init(from reader: inout JSONReader) throws(JSONError) {
        try reader.object { name, reader throws(JSONError) in
            guard name == "refusal" else { throw .unknownMember(name) }
            refusal = try String(from: &reader)
        }
    }

    public func writeMembers(to writer: inout JSONWriter) { writer.member("refusal", refusal) }
}

public protocol WorkerAnswer: JSONReadable, Sendable {
    /// Whether the worker takes further calls.
    var leavesWorkerIdle: Bool { get }
}

extension PluginOutcome: WorkerAnswer {
    /// A worker that could start no plugin may be short of resources, so it gets no further call.
    public var leavesWorkerIdle: Bool { if case .notStarted = ending { false } else { !leavesProcesses } }
}

extension HTTPOutcome: WorkerAnswer {
    /// After an unexpected outcome, the worker may be about to exit, so it gets no further request.
    public var leavesWorkerIdle: Bool { if case .expected = self { true } else { false } }
}

public enum SystemErrorText {
    /// Returns the text of an error; if permission is denied, it names the user.
    ///
    /// An administrator who tries the same command is usually another user.
    public static func text(of number: Int32) -> String {
        let text = String(cString: strerror(number))
        return number == EACCES ? "\(text) for the user \(userName)" : text
    }

    /// The name of the user of this process, or its number.
    public static var userName: String {
        getpwuid(geteuid()).map { String(cString: $0.pointee.pw_name) } ?? String(geteuid())
    }
}
