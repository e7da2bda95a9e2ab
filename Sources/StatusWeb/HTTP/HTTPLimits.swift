// SPDX-License-Identifier: Apache-2.0

#if Web
import NIOCore
import NIOHTTP1

/// What a visitor may use.
struct HTTPLimits {
    /// The maximum number of connections.
    let connections: Int
    /// The maximum number of event streams.
    var streams: Int { connections / 2 }
    /// The maximum number of requests on a connection that are not answered yet.
    var ahead = 16
    /// The maximum length of a request's body, in bytes.
    var body = 4096
    /// The bytes of all answers and snapshots that visitors have not read yet.
    var unread = 64 << 20
    /// How long a connection may wait for a request, and take to send one.
    var (idle, request) = (TimeAmount.seconds(30), TimeAmount.seconds(10))
    /// How long a visitor may take to read an answer, and miss events.
    var (sending, stalled) = (TimeAmount.seconds(60), TimeAmount.seconds(15))

    /// - Parameter descriptors: how many the process may have; some are left for statusd. Without a free one, NIO could
    ///   neither accept a connection nor wait for the next.
    init(descriptors: Int) { connections = max(8, min(1024, descriptors - 48)) }

    /// The limits of header fields; by default, NIO takes up to 256 fields of 2 MB.
    static var decoder: NIOHTTPDecoderLimitConfiguration {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = 8 * 1024
        limits.maxHeaderListSize = 16 * 1024
        limits.maxHeaderFieldCount = 64
        return limits
    }
}
#endif
