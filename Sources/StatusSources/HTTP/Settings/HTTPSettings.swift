// SPDX-License-Identifier: Apache-2.0

/// `http: { url: … }`: what is asked of an HTTP server, and how the answer should be.
public struct HTTPSettings: SourceSettings {
    public static let key = "http"
    public static let delivery = SourceDelivery.checked

    /// The address, `http` or `https`.
    public var url: String
    /// The method; with `HEAD` the answer has no body.
    public var method = "GET"
    /// Header fields, each as `Name: value`.
    ///
    /// If a redirection leads to another host, libcurl keeps back `Authorization` and `Cookie`, but no other.
    public var headers: [String] = []
    /// The status codes that are right.
    public var statusCodes = [200...299]
    /// What has to stand in the first MiB of the body; nil if anything may.
    public var contains: String?
    /// A PEM file with the authorities to trust instead of the system's.
    public var certificateAuthority: String?
    /// How many redirections are followed; with 0 the redirection itself is the answer.
    public var redirects = 5

    /// A GET of `url` that should be answered with success.
    public init(url: String) { self.url = url }

    /// Whether the address is `https`.
    public var isSecure: Bool { url.lowercased().hasPrefix("https:") }

    public var requirements: [SourceRequirement] { certificateAuthority.map { [.readableFile($0)] } ?? [] }
}
