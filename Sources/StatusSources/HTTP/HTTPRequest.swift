// SPDX-License-Identifier: Apache-2.0

/// What is asked of an HTTP server, and how much of it is waited for.
struct HTTPRequest: Sendable {
    /// The address, `http` or `https`.
    var url: String
    /// The method; with `HEAD` the answer has no body.
    var method = "GET"
    /// Header fields, each as `Name: value`.
    ///
    /// Where a redirection leads to another host, libcurl keeps back `Authorization` and `Cookie`, but no other.
    var headers: [String] = []
    /// A PEM file with the authorities to trust instead of the system's.
    var caFile: String?
    /// How many redirections are followed; with 0 the redirection itself is the answer.
    var redirects = 5
    /// How long all of it may take, from looking up the name to the end of the body.
    var timeout: Duration
    /// How many bytes of the body are kept; once there are more the connection is closed.
    var bodyLimit = 1 << 20

    /// Whether the address is `https`.
    var isSecure: Bool { url.lowercased().hasPrefix("https:") }
}

/// What an HTTP server answered.
struct HTTPResponse: Sendable {
    /// The status code, of the last answer where redirections were followed.
    let statusCode: Int
    /// The body, at most as much of it as the request allows.
    let body: [UInt8]
    /// Whether the body was longer than the request allows.
    let isBodyCut: Bool
    /// How long all of it took.
    let duration: Duration
}

/// Why there was no answer.
struct HTTPFailure: Error, Equatable, CustomStringConvertible {
    /// One short phrase, in lower case and without a full stop.
    let reason: String
    /// Whether it is this host that lacks something, so that nothing is known of the server.
    var isLocal = false

    var description: String { reason }
}
