// SPDX-License-Identifier: Apache-2.0

/// `http: { url: … }`: the request to an HTTP server, and the expected response.
public struct HTTPSettings: SourceSettings {
    public static let key = "http"
    public static let delivery = SourceDelivery.checked

    /// The URL, `http` or `https`.
    public var url: String
    /// The method; the response to `HEAD` has no body.
    public var method = "GET"
    /// Header fields, each as `Name: value`.
    ///
    /// After a redirect to another host, libcurl does not send `Authorization` and `Cookie`, but all others.
    public var headers: [String] = []
    /// The expected status codes.
    public var statusCodes = [200...299]
    /// The text that the first MiB of the body must contain, if any.
    public var contains: String?
    /// A PEM file with the authorities to trust, instead of the system's.
    public var certificateAuthority: String?
    /// The maximum number of redirects to follow; with 0, the redirect itself is the response.
    public var redirects = 5

    /// Creates settings of a GET of `url` that expects success.
    public init(url: String) { self.url = url }

    /// Whether the URL is `https`.
    public var isSecure: Bool { url.lowercased().hasPrefix("https:") }

    public var subjectParts: [String] {
        let codes = statusCodes.map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: " ")
        let body = contains.map { ["contains", $0] } ?? []
        return [url, method, codes, certificateAuthority ?? "", String(redirects)] + headers + body
    }
    public var requirements: [SourceRequirement] { certificateAuthority.map { [.readableFile($0)] } ?? [] }
}
