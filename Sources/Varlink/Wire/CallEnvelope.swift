// SPDX-License-Identifier: Apache-2.0

/// A call as it stands on the wire.
struct CallEnvelope {
    /// The method's full name, in the message, or in memory of its own where it is written with escapes.
    enum Method {
        case inPlace(Range<Int>)
        case decoded(String)
    }

    var method: Method?
    /// Where its parameters are in the message; nil where there are none.
    var parameters: Range<Int>?
    var wantsMore = false
    var isOneway = false
    var wantsUpgrade = false

    /// Reads a call.
    ///
    /// What a call does not have in it, or not in this way, is an error: then its sender is no Varlink client.
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

/// A reply as it stands on the wire.
struct ReplyEnvelope {
    /// The error's name; nil where all went well.
    var error: String?
    /// Where its parameters are in the message; nil where there are none.
    var parameters: Range<Int>?
    var continues = false

    /// Reads a reply.
    init(_ message: UnsafeRawBufferPointer) throws(JSONError) {
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

    /// Where the parameters are, an object or `null`; they are checked and skipped.
    fileprivate mutating func parametersRange() throws(JSONError) -> Range<Int>? {
        if try isNull() { return nil }
        guard current == UInt8(ascii: "{") else { throw mismatch("object") }
        return try rawRange()
    }

    /// Reads parameters that are at `range` in `message`; where there are none, `{}` is read.
    static func readParameters<Value: JSONReadable>(
        _ message: UnsafeRawBufferPointer, _ range: Range<Int>?, as type: Value.Type
    ) throws(JSONError) -> Value {
        guard let range else {
            return try read(Array("{}".utf8)) { reader throws(JSONError) in try Value(from: &reader) }
        }
        return try read(UnsafeRawBufferPointer(rebasing: message[range])) { reader throws(JSONError) in
            try Value(from: &reader)
        }
    }

    /// Reads the parameters of a reply, in which members that the type does not know are skipped.
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
