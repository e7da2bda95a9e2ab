// SPDX-License-Identifier: Apache-2.0

import StatusSupport

/// `http: { url: … }`: a request to an HTTP server, and the expected response.
public struct HTTPSettings: SourceSettings {
    public static let key = "http"
    public static let delivery = SourceDelivery.checked

    /// libcurl's shared library, which makes the requests.
    public static let library = "libcurl.so.4"
    public static let libcurl = SourceRequirement.library(library, package: "libcurl4")

    public var url: String
    /// The Unix socket to connect to, instead of the host and port of the URL.
    public var socket: String?
    /// The URL of a proxy, which may have a password; nil for none.
    public var proxy: String?
    /// The method; the response to `HEAD` has no body.
    public var method = "GET"
    /// Header fields, each as `Name: value`.
    ///
    /// After a redirect to another host, libcurl sends all of them except `Authorization` and `Cookie`. With
    /// `Accept-Encoding`, the body is decoded; with `Cookie`, cookies that the site sets are ignored.
    public var headers: [String] = []
    /// Header fields with secret values, which are sent to no other host.
    public var credentials: [CredentialField] = []
    /// The body of the request; nil for none.
    public var body: String?
    public var statusCodes = [200...299]
    /// The text that the first MiB of the body must contain, if any.
    public var contains: String?
    /// The regular expression that the first MiB of the body must match, if any.
    public var matches: String?
    /// The value that the body must have as JSON, if any.
    public var json: JSONExpectation?
    /// The time before the expiry of the certificate from which on the level is warning; nil to ignore it.
    public var expires: Duration? = ExpiryLimits.defaultWarning
    /// A PEM file with the authorities to trust, instead of the system's.
    public var certificateAuthority: String?
    /// The maximum number of redirects to follow; with 0, the redirect itself is the response.
    public var redirects = 5
    /// The time from which on the level is warning; nil for none.
    public var slow: Duration?

    public init(url: String) { self.url = url }

    public var isSecure: Bool { url.lowercased().hasPrefix("https:") }

    /// Whether a header field is configured.
    public func sends(_ field: String) -> Bool {
        headers.contains { $0.lowercased().hasPrefix("\(field.lowercased()):") }
            || credentials.contains { $0.field.lowercased() == field.lowercased() }
    }

    /// Whether the body decides about the level.
    public var judgesBody: Bool { contains != nil || needsWholeBody }
    /// Whether the body decides only when it is complete.
    public var needsWholeBody: Bool { matches != nil || json != nil }

    public var subjectParts: [String] {
        let codes = statusCodes.map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: " ")
        var parts = [url, method, codes, certificateAuthority ?? "", String(redirects)] + headers
        // Optional parts follow their names, so that their number does not matter.
        func add(_ name: String, _ values: [String]?) { if let values { parts += [name] + values } }
        add("contains", contains.map { [$0] })
        add("slow", slow.map { ["\(Int($0 / .milliseconds(1)))"] })
        add("matches", matches.map { [$0] })
        add("json", json.map { [$0.path.text] + ($0.equals?.parts ?? []) })
        add("body", body.map { [$0] })
        add("socket", socket.map { [$0] })
        add("proxy", proxy.map { [$0] })
        for credential in credentials { add("credential", [credential.field, credential.name]) }
        if expires != ExpiryLimits.defaultWarning { add("expires", ["\(expires?.components.seconds ?? 0)"]) }
        return parts
    }
    public var requirements: [SourceRequirement] {
        [Self.libcurl] + (certificateAuthority.map { [.readableFile($0)] } ?? [])
            + (socket.map { [.connectableSocket($0)] } ?? [])
            + (matches == nil ? [] : [.library(RegularExpression.library, package: "libpcre2-8-0")])
    }
}

/// A header field whose value is a credential of the daemon's service (systemd.exec(5), `LoadCredential=`).
public struct CredentialField: Equatable, Sendable {
    public var field: String
    /// The name of the credential.
    public var name: String

    public init(field: String, name: String) { (self.field, self.name) = (field, name) }
}
