// SPDX-License-Identifier: Apache-2.0

/// A call as it stands on the wire.
struct CallEnvelope {
    var method = ""
    /// Where its parameters are in the message; nil where there are none.
    var parameters: Range<Int>?
    var wantsMore = false
    var isOneway = false
    var wantsUpgrade = false

    /// Reads a call. What a call does not have in it, or not in this way, is an error: then its sender is no Varlink client.
    init(_ message: UnsafeRawBufferPointer) throws(JSONError) {
        var call = CallEnvelope()
        var hasMethod = false
        try JSONReader.read(message) { reader throws(JSONError) in
            try reader.object { name, reader throws(JSONError) in
                switch name {
                case "method":
                    call.method = try reader.string()
                    hasMethod = true
                case "parameters": call.parameters = try Self.parameters(&reader)
                case "more": call.wantsMore = try Bool?(from: &reader) ?? false
                case "oneway": call.isOneway = try Bool?(from: &reader) ?? false
                case "upgrade": call.wantsUpgrade = try Bool?(from: &reader) ?? false
                default: throw .unknownMember(name)
                }
            }
        }
        guard hasMethod else { throw .missingMember("method") }
        let flags = [call.wantsMore, call.isOneway, call.wantsUpgrade]
        guard flags.count(where: \.self) <= 1 else { throw JSONError(.invalidMember("more")) }
        self = call
    }

    private init() {}

    private static func parameters(_ reader: inout JSONReader) throws(JSONError) -> Range<Int>? {
        if try reader.isNull() { return nil }
        guard reader.current == UInt8(ascii: "{") else { throw reader.error(.type(expected: "object")) }
        return try reader.rawRange()
    }
}

/// A reply as it stands on the wire.
struct ReplyEnvelope {
    var error: String?
    /// The bytes of the parameters, an object.
    var parameters: [UInt8] = Array("{}".utf8)
    var continues = false

    init(_ message: [UInt8]) throws(JSONError) {
        var reply = ReplyEnvelope()
        try JSONReader.read(message) { reader throws(JSONError) in
            try reader.object { name, reader throws(JSONError) in
                switch name {
                case "error": reply.error = try String?(from: &reader)
                case "continues": reply.continues = try Bool?(from: &reader) ?? false
                case "parameters": if try !reader.isNull() { reply.parameters = try reader.raw() }
                default: throw .unknownMember(name)
                }
            }
        }
        self = reply
    }

    private init() {}
}
