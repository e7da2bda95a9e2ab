// SPDX-License-Identifier: Apache-2.0

public import SourceKinds
public import Varlink

@dynamicMemberLookup
public struct HTTPRequest: Sendable, Equatable {
    /// The settings: the request and the expected response.
    public var settings: HTTPSettings
    public var userAgent: String
    /// The timeout for everything from the lookup of the name to the end of the body.
    public var timeout: Duration

    public init(_ settings: HTTPSettings, userAgent: String = "statusd", timeout: Duration) {
        self.settings = settings
        self.userAgent = userAgent
        self.timeout = timeout
    }

    public subscript<Value>(dynamicMember path: KeyPath<HTTPSettings, Value>) -> Value { settings[keyPath: path] }
}

extension HTTPRequest: JSONStructure {
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
            case "statusCodes":
                settings.statusCodes = try [[Int]](from: &reader).map { ends throws(JSONError) in
                    guard ends.count == 2, ends[0] <= ends[1] else { throw reader.error(.syntax) }
                    return ends[0]...ends[1]
                }
            case "contains": settings.contains = try String(from: &reader)
            default: throw .unknownMember(name)
            }
        }
    }

    public func writeMembers(to writer: inout JSONWriter) {
        writer.member("url", settings.url)
        writer.member("method", settings.method)
        writer.member("headers", settings.headers)
        writer.member("userAgent", userAgent)
        writer.member("certificateAuthority", settings.certificateAuthority)
        writer.member("redirects", settings.redirects)
        writer.member("timeout", Int(timeout / .microseconds(1)))
        writer.member("statusCodes", settings.statusCodes.map { [$0.lowerBound, $0.upperBound] })
        writer.member("contains", settings.contains)
    }
}
