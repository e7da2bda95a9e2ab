// SPDX-License-Identifier: Apache-2.0

#if Web
import Glibc
import NIOCore
import NIOHTTP1

/// An answer with all of its body.
struct Response {
    var status: HTTPResponseStatus
    var type: String
    var body: ByteBuffer
    /// Header fields besides those that all answers have.
    var fields: [(name: String, value: String)] = []

    init(_ status: HTTPResponseStatus = .ok, _ type: String, _ body: ByteBuffer) {
        (self.status, self.type, self.body) = (status, type, body)
    }

    /// A sentence for people.
    static func text(_ status: HTTPResponseStatus, _ text: String) -> Response {
        Response(status, "text/plain; charset=utf-8", ByteBuffer(string: text + "\n"))
    }

    static func json(_ bytes: [UInt8], _ status: HTTPResponseStatus = .ok) -> Response {
        Response(status, "application/json", ByteBuffer(bytes: bytes + [UInt8(ascii: "\n")]))
    }

    /// The head of the message.
    func head(for request: HTTPRequestHead, closes: Bool) -> HTTPResponseHead {
        var headers = Self.fields(for: request, closes: closes)
        if status != .notModified {
            headers.add(name: "Content-Type", value: type)
            headers.add(name: "Content-Length", value: String(body.readableBytes))
        }
        for field in fields { headers.replaceOrAdd(name: field.name, value: field.value) }
        if !headers.contains(name: "Cache-Control") { headers.add(name: "Cache-Control", value: "no-store") }
        return HTTPResponseHead(version: request.version, status: status, headers: headers)
    }

    /// The head of a stream of server-sent events, which has no end.
    static func streamHead(for request: HTTPRequestHead) -> HTTPResponseHead {
        var headers = fields(for: request, closes: request.version == .http1_0)
        headers.add(name: "Content-Type", value: "text/event-stream")
        headers.add(name: "Cache-Control", value: "no-store")
        // nginx would collect events otherwise.
        headers.add(name: "X-Accel-Buffering", value: "no")
        return HTTPResponseHead(version: request.version, status: .ok, headers: headers)
    }

    private static func fields(for request: HTTPRequestHead, closes: Bool) -> HTTPHeaders {
        var headers = HTTPHeaders()
        headers.reserveCapacity(12)
        headers.add(name: "Date", value: HTTPDate.now)
        headers.add(name: "X-Content-Type-Options", value: "nosniff")
        headers.add(name: "Referrer-Policy", value: "no-referrer")
        headers.add(name: "Cross-Origin-Resource-Policy", value: "same-origin")
        if closes {
            headers.add(name: "Connection", value: "close")
        } else if request.version == .http1_0 {
            headers.add(name: "Connection", value: "keep-alive")
        }
        return headers
    }
}

/// The time in an HTTP message (RFC 9110, section 5.6.7).
enum HTTPDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    static var now: String { text(of: time(nil)) }

    static func text(of time: time_t) -> String {
        var (time, parts) = (time, tm())
        gmtime_r(&time, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) "
            + "\(parts.tm_year + 1900) \(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
    }
}
#endif
