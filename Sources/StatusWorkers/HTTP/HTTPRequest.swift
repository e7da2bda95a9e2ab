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
    /// The handshake to make instead of a request; nil for a request.
    public var handshake: Handshake?

    /// A TLS handshake with the host of the URL, whose scheme is the protocol before it.
    public struct Handshake: Sendable, Equatable {
        /// The host and port to connect to, which may have another name than the certificate.
        public var address: String
    }

    public init(_ settings: HTTPSettings, userAgent: String = "statusd", timeout: Duration) {
        self.settings = settings
        self.userAgent = userAgent
        self.timeout = timeout
    }

    /// Creates a request that ends with the handshake.
    public init(_ certificate: CertificateSettings, timeout: Duration) {
        let scheme = certificate.startTLS?.rawValue ?? "https"
        let host = certificate.name ?? certificate.host
        self.init(HTTPSettings(url: "\(scheme)://\(host):\(certificate.port)/"), timeout: timeout)
        settings.certificateAuthority = certificate.certificateAuthority
        settings.expires = certificate.expires
        settings.redirects = 0
        handshake = Handshake(address: "\(certificate.host):\(certificate.port)")
    }

    /// Whether the first connection uses TLS.
    var isSecure: Bool { settings.isSecure || handshake != nil }

    public subscript<Value>(dynamicMember path: KeyPath<HTTPSettings, Value>) -> Value { settings[keyPath: path] }
}

extension HTTPRequest: JSONStructure {
    public init(from reader: inout JSONReader) throws(JSONError) {
        self.init(HTTPSettings(url: ""), timeout: .zero)
        settings.expires = nil
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
            case "expires": settings.expires = .seconds(try Int(from: &reader))
            case "handshake": handshake = Handshake(address: try String(from: &reader))
            default: try readRare(name, &reader)
            }
        }
    }

    private mutating func readRare(_ name: JSONName, _ reader: inout JSONReader) throws(JSONError) {
        switch name {
        case "socket": settings.socket = try String(from: &reader)
        case "proxy": settings.proxy = try String(from: &reader)
        case "body": settings.body = try String(from: &reader)
        case "matches": settings.matches = try String(from: &reader)
        case "json":
            let parts = try [String](from: &reader)
            guard let path = parts.first.flatMap({ JSONPath($0) }) else { throw reader.error(.syntax) }
            settings.json = JSONExpectation(path: path, equals: JSONScalar(parts: Array(parts.dropFirst())))
        case "credentials":
            settings.credentials = try [[String]](from: &reader).map { pair throws(JSONError) in
                guard pair.count == 2 else { throw reader.error(.syntax) }
                return CredentialField(field: pair[0], name: pair[1])
            }
        default: throw .unknownMember(name)
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
        writer.member("expires", settings.expires.map { Int($0.components.seconds) })
        writer.member("handshake", handshake?.address)
        writer.member("socket", settings.socket)
        writer.member("proxy", settings.proxy)
        writer.member("body", settings.body)
        writer.member("matches", settings.matches)
        writer.member("json", settings.json.map { [$0.path.text] + ($0.equals?.parts ?? []) })
        if !settings.credentials.isEmpty {
            writer.member("credentials", settings.credentials.map { [$0.field, $0.name] })
        }
    }
}
