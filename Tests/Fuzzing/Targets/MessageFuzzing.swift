// SPDX-License-Identifier: Apache-2.0

@testable import Varlink

/// Messages of Varlink: bytes of a connection, each message of which is JSON, a call or a reply.
enum MessageFuzzing {
    static func check(_ input: [UInt8]) {
        let whole = messages(in: input, inPiecesOf: max(1, input.count))
        let pieces = messages(in: input, inPiecesOf: 1 + Int(input.last ?? 0) % 16)
        expect(whole == pieces, "the messages do not depend on how the bytes arrive")
        for message in whole.dropLast() {
            checkJSON(message)
            message.withUnsafeBytes { message in
                checkReply(message)
                checkCall(message)
            }
        }
    }

    /// The whole messages, and the bytes after them.
    private static func messages(in input: [UInt8], inPiecesOf count: Int) -> [[UInt8]] {
        var reader = MessageInput()
        var messages: [[UInt8]] = []
        var rest = input[...]
        while !rest.isEmpty {
            let room = reader.room()
            let piece = rest.prefix(min(count, room.count))
            room.copyBytes(from: piece)
            reader.add(piece.count)
            rest = rest.dropFirst(piece.count)
            while let message = reader.takeMessage() { messages.append(Array(message)) }
        }
        return messages + [Array(repeating: 0, count: reader.count)]
    }

    // MARK: JSON

    private static func checkJSON(_ message: [UInt8]) {
        var skipped: [UInt8]?
        do throws(JSONError) {
            skipped = try JSONReader.read(message) { reader throws(JSONError) in try reader.raw() }
        } catch {
            checkPlace(of: error, in: message)
        }
        let value = try? JSONReader.read(message) { reader throws(JSONError) in try JSONValue(from: &reader) }
        expect((skipped == nil) == (value == nil), "a value can be read if it can be skipped, and only then")
        guard let skipped, let value else { return }
        expect(skipped == trimmed(message), "a value ends where the message ends")
        expectStable(value)
        if skipped.first == UInt8(ascii: "{") {
            let members: Void? = try? JSONReader.read(message) { reader throws(JSONError) in
                try reader.object { _, _ throws(JSONError) in }
            }
            expect(members != nil, "members that are not read are skipped")
        }
    }

    /// The bytes without the white space around them.
    private static func trimmed(_ bytes: [UInt8]) -> [UInt8] {
        let isBlank: (UInt8) -> Bool = { " \n\r\t".utf8.contains($0) }
        let begun = bytes.drop(while: isBlank)
        return Array(begun[..<(begun.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? begun.startIndex)])
    }

    /// The place of an error is in the message.
    private static func checkPlace(of error: JSONError, in message: [UInt8]) {
        expect((0...message.count).contains(error.offset), "the place of an error exists: \(error)")
    }

    /// A value that was read and written is the same if it is read and written again.
    static func expectStable<Value: JSONReadable & JSONWritable>(_ value: Value) {
        let written = bytes(of: value)
        let again = try? JSONReader.read(written) { reader throws(JSONError) in try Value(from: &reader) }
        guard let again else { return expect(false, "what is written can be read: \(text(of: written))") }
        let rewritten = bytes(of: again)
        expect(written == rewritten, "\(text(of: written)) becomes \(text(of: rewritten))")
    }

    private static func bytes(of value: some JSONWritable) -> [UInt8] {
        var writer = JSONWriter()
        writer.value(value)
        return writer.bytes
    }

    private static func text(of bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    // MARK: Envelopes

    private static func checkReply(_ message: UnsafeRawBufferPointer) {
        guard let reply = try? ReplyEnvelope(message) else { return }
        expectObject(message, reply.parameters)
        MonitorFuzzing.checkReply(message, reply)
    }

    private static func checkCall(_ message: UnsafeRawBufferPointer) {
        guard let call = try? CallEnvelope(message) else { return }
        expectObject(message, call.parameters)
        MonitorFuzzing.checkCall(message, call)
    }

    private static func expectObject(_ message: UnsafeRawBufferPointer, _ range: Range<Int>?) {
        let members = try? JSONReader.readParameters(message, range, as: AnyMembers.self)
        expect(members != nil, "parameters that were accepted are an object")
    }
}

/// An object with any members.
private struct AnyMembers: JSONReadable {
    init(from reader: inout JSONReader) throws(JSONError) { try reader.object { _, _ throws(JSONError) in } }
}
