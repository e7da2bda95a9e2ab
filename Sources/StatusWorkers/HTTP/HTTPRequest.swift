// SPDX-License-Identifier: Apache-2.0

public import Varlink

/// What is asked of an HTTP server, and how the answer should be.
public struct HTTPRequest: Sendable, Equatable {
    /// The address, `http` or `https`.
    public var url: String
    /// The method; with `HEAD` the answer has no body.
    public var method = "GET"
    /// Header fields, each as `Name: value`.
    ///
    /// Where a redirection leads to another host, libcurl keeps back `Authorization` and `Cookie`, but no other.
    public var headers: [String] = []
    /// The client's name.
    public var userAgent: String
    /// A PEM file with the authorities to trust instead of the system's.
    public var certificateAuthority: String?
    /// How many redirections are followed; with 0 the redirection itself is the answer.
    public var redirects = 5
    /// How long all of it may take, from looking up the name to the end of the body.
    public var timeout: Duration
    /// The status codes that are right.
    public var statusCodes = [200...299]
    /// What has to stand in the first MiB of the body.
    public var contains: String?

    /// A GET of `url` that should be answered with success.
    public init(url: String, userAgent: String = "statusd", timeout: Duration) {
        self.url = url
        self.userAgent = userAgent
        self.timeout = timeout
    }

    /// Whether the address is `https`.
    public var isSecure: Bool { url.lowercased().hasPrefix("https:") }
}

extension HTTPRequest: JSONReadable, JSONWritable {
    public init(from reader: inout JSONReader) throws(JSONError) {
        self.init(url: "", timeout: .zero)
        try reader.object { name, reader throws(JSONError) in
            switch name {
            case "url": url = try String(from: &reader)
            case "method": method = try String(from: &reader)
            case "headers": headers = try [String](from: &reader)
            case "userAgent": userAgent = try String(from: &reader)
            case "certificateAuthority": certificateAuthority = try String(from: &reader)
            case "redirects": redirects = try Int(from: &reader)
            case "timeout": timeout = .microseconds(try Int(from: &reader))
            case "statusCodes": statusCodes = try [CodeRange](from: &reader).map(\.range)
            case "contains": contains = try String(from: &reader)
            default: throw .unknownMember(name)
            }
        }
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("url", url)
            writer.member("method", method)
            writer.member("headers", headers)
            writer.member("userAgent", userAgent)
            writer.member("certificateAuthority", certificateAuthority)
            writer.member("redirects", redirects)
            writer.member("timeout", Int(timeout / .microseconds(1)))
            writer.member("statusCodes", statusCodes.map { CodeRange(range: $0) })
            writer.member("contains", contains)
        }
    }

    /// A range of status codes, as an array of its first and its last.
    private struct CodeRange: JSONReadable, JSONWritable {
        let range: ClosedRange<Int>

        init(range: ClosedRange<Int>) { self.range = range }

        init(from reader: inout JSONReader) throws(JSONError) {
            let ends = try [Int](from: &reader)
            guard ends.count == 2, ends[0] <= ends[1] else { throw reader.error(.syntax) }
            range = ends[0]...ends[1]
        }

        func write(to writer: inout JSONWriter) { [range.lowerBound, range.upperBound].write(to: &writer) }
    }
}
