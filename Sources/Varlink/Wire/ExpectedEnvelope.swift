// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The bytes around the parameters of a connection's last oneway call.
///
/// A client that posts repeatedly sends the same call with other parameters. A message with the same bytes around its
/// parameters has the same envelope if one JSON value stands between them, which reading the parameters checks
/// (``VarlinkCall/parameters(_:)``).
struct ExpectedEnvelope {
    private let head: [UInt8]
    private let tail: [UInt8]
    private var call: ReceivedCall

    /// More bytes are not remembered, because no client needs as many around the parameters.
    private static let maximumLength = 1024

    /// Remembers a call; nil if it is not oneway, or if nothing but the closing brace follows the parameters.
    init?(_ call: ReceivedCall, in message: UnsafeRawBufferPointer) {
        guard call.envelope.isOneway, let parameters = call.envelope.parameters,
            message.count - parameters.upperBound > 1, message.count - parameters.count <= Self.maximumLength
        else { return nil }
        head = Array(message[..<parameters.lowerBound])
        tail = Array(message[parameters.upperBound...])
        self.call = call
        self.call.isUnverified = true
    }

    /// The call in a message with the same bytes around its parameters; nil for other messages.
    mutating func call(in message: UnsafeRawBufferPointer) -> ReceivedCall? {
        let end = message.count - tail.count
        guard let start = message.baseAddress, end > head.count, memcmp(start, head, head.count) == 0,
            memcmp(start + end, tail, tail.count) == 0
        else { return nil }
        call.envelope.parameters = head.count..<end
        return call
    }
}
