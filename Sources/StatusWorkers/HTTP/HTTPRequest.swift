// SPDX-License-Identifier: Apache-2.0

public import SourceKinds
public import Varlink

/// A request that a worker makes.
@dynamicMemberLookup
public struct HTTPRequest: Sendable, Equatable {
    /// The settings: the request and the expected response.
    public var settings: HTTPSettings
    /// The value of `User-Agent`.
    public var userAgent: String
    /// The timeout for everything from the lookup of the name to the end of the body.
    public var timeout: Duration

    /// Creates a request.
    public init(_ settings: HTTPSettings, userAgent: String = "statusd", timeout: Duration) {
        self.settings = settings
        self.userAgent = userAgent
        self.timeout = timeout
    }

    /// Returns one of the settings.
    public subscript<Value>(dynamicMember path: KeyPath<HTTPSettings, Value>) -> Value { settings[keyPath: path] }
}

extension HTTPRequest: JSONReadable, JSONWritable {
    public init(from reader: inout JSONReader) throws(JSONError) {
        self.init(HTTPSettings(url: ""), timeout: .zero)
        try reader.object { name, reader throws(JSONError) in
            switch name {
            case "url": settings.url = try String(from: &reader)
            case "method": settings.method = try String(from: &reader)
            case "headers": settings.headers = try [String](from: &reader)
            case "userAgent": userAgent = try String(from: &reader)
            case "certificateAuthority": settings.certificateAuthority = try String(from: &reader)
            case "redirects": settings.redirects = try Int(from: &reader)
            case "timeout": timeout = .microseconds(try Int(from: &reader))
            case "statusCodes": settings.statusCodes = try [CodeRange](from: &reader).map(\.range)
            case "contains": settings.contains = try String(from: &reader)
            default: throw .unknownMember(name)
            }
        }
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("url", settings.url)
            writer.member("method", settings.method)
            writer.member("headers", settings.headers)
            writer.member("userAgent", userAgent)
            writer.member("certificateAuthority", settings.certificateAuthority)
            writer.member("redirects", settings.redirects)
            writer.member("timeout", Int(timeout / .microseconds(1)))
            writer.member("statusCodes", settings.statusCodes.map { CodeRange(range: $0) })
            writer.member("contains", settings.contains)
        }
    }

    /// A range of status codes, as an array of the first and the last one.
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
