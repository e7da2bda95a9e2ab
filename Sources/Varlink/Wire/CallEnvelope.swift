// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc

/// A call as it is sent.
struct CallEnvelope {
    /// The method's full name: in the message, or in its own memory if it has escapes.
    enum Method {
        case inPlace(Range<Int>)
        case decoded(String)
    }

    var method: Method?
    /// The range of its parameters in the message; nil if there are none.
    var parameters: Range<Int>?
    var wantsMore = false
    var isOneway = false
    var wantsUpgrade = false

    /// Reads a call.
    ///
    /// Unknown members and wrong types are errors, because they show that the sender does not speak Varlink.
    init(_ message: UnsafeRawBufferPointer) throws(JSONError) {
        var call = CallEnvelope()
        try JSONReader.read(message) { reader throws(JSONError) in
            try reader.object { name, reader throws(JSONError) in
                switch name {
                case "method": call.method = try reader.method()
                case "parameters": call.parameters = try reader.parametersRange()
                case "more": call.wantsMore = try Bool?(from: &reader) ?? false
                case "oneway": call.isOneway = try Bool?(from: &reader) ?? false
                case "upgrade": call.wantsUpgrade = try Bool?(from: &reader) ?? false
                default: throw .unknownMember(name)
                }
            }
        }
        guard call.method != nil else { throw .missingMember("method") }
        let flags = (call.wantsMore ? 1 : 0) + (call.isOneway ? 1 : 0) + (call.wantsUpgrade ? 1 : 0)
        guard flags <= 1 else { throw JSONError(.invalidMember("more")) }
        self = call
    }

    private init() {}
}

/// A oneway call, and the bytes around its parameters.
///
/// A client that posts often sends the same bytes around other parameters. A message with these bytes is the same call
/// if one JSON value is between them, which reading the parameters checks.
@EventLoop
final class RepeatedCall {
    private let head: [UInt8]
    private let tail: [UInt8]
    private var call: VarlinkCall
    /// Longer bytes are not kept; no client needs as many.
    private static let maximumLength = 512

    /// Keeps a call that is over; nil if it is not oneway, or has no parameters.
    init?(_ call: VarlinkCall, in message: UnsafeRawBufferPointer) {
        guard call.isOneway, let parameters = call.parameters, message.count - parameters.count <= Self.maximumLength
        else { return nil }
        head = Array(message[..<parameters.lowerBound])
        tail = Array(message[parameters.upperBound...])
        self.call = call
    }

    /// The call of a message with the same bytes around an object; nil for other messages, or if its handler has kept
    /// the last call.
    func call(of message: UnsafeRawBufferPointer) -> VarlinkCall? {
        let end = message.count - tail.count
        guard end > head.count, message[head.count] == UInt8(ascii: "{"), let start = message.baseAddress,
            memcmp(start, head, head.count) == 0, memcmp(start + end, tail, tail.count) == 0,
            isKnownUniquelyReferenced(&call)
        else { return nil }
        call.begin(head.count..<end, in: message)
        return call
    }
}

/// A reply as it is sent.
package struct ReplyEnvelope {
    /// The error's name; nil for a reply without one.
    package var error: String?
    /// The range of its parameters in the message; nil if there are none.
    package var parameters: Range<Int>?
    package var continues = false

    /// Reads a reply.
    package init(_ message: UnsafeRawBufferPointer) throws(JSONError) {
        var reply = ReplyEnvelope()
        try JSONReader.read(message) { reader throws(JSONError) in
            try reader.object { name, reader throws(JSONError) in
                switch name {
                case "error": reply.error = try String?(from: &reader)
                case "continues": reply.continues = try Bool?(from: &reader) ?? false
                case "parameters": reply.parameters = try reader.parametersRange()
                default: throw .unknownMember(name)
                }
            }
        }
        self = reply
    }

    private init() {}
}

extension JSONReader {
    fileprivate mutating func method() throws(JSONError) -> CallEnvelope.Method {
        let start = position &+ 1
        if current == UInt8(ascii: "\""), let name = plainString() { return .inPlace(start..<(start + name.count)) }
        return .decoded(try string())
    }

    /// Reads past the parameters, an object or `null`, checking them, and returns their range.
    fileprivate mutating func parametersRange() throws(JSONError) -> Range<Int>? {
        if try isNull() { return nil }
        guard current == UInt8(ascii: "{") else { throw mismatch("object") }
        return try rawRange()
    }

    /// The depth limit of parameters, which are one level below the message.
    private static let maximumParametersDepth = defaultMaximumDepth - 1

    /// Reads the parameters at `range` of `message`, or `{}` if there are none.
    static func readParameters<Value: JSONReadable>(
        _ message: UnsafeRawBufferPointer, _ range: Range<Int>?, as type: Value.Type
    ) throws(JSONError) -> Value {
        guard let range else {
            return try read(Array("{}".utf8)) { reader throws(JSONError) in try Value(from: &reader) }
        }
        let parameters = UnsafeRawBufferPointer(rebasing: message[range])
        return try read(parameters, maximumDepth: maximumParametersDepth) { reader throws(JSONError) in
            try Value(from: &reader)
        }
    }

    /// Reads the parameters of a reply, skipping unknown members.
    static func readReply<Value: JSONReadable>(
        _ message: UnsafeRawBufferPointer, _ range: Range<Int>?, as type: Value.Type
    ) throws(JSONError) -> Value {
        guard let range else { return try readParameters(message, nil, as: type) }
        return try read(UnsafeRawBufferPointer(rebasing: message[range])) { reader throws(JSONError) in
            reader.skipsUnknownMembers = true
            return try Value(from: &reader)
        }
    }
}
