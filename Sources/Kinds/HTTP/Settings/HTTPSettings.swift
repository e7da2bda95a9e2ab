// SPDX-License-Identifier: Apache-2.0

import StatusModel
public import YAML

/// `http: { url: … }`: a request to an HTTP server, and the expected response.
public struct HTTPSettings: SourceSettings {
    public static let key = "http"
    public static let delivery = SourceDelivery.checked

    /// libcurl's shared library, which makes the requests.
    public static let library = "libcurl.so.4"

    public var url: String
    /// The method; the response to `HEAD` has no body.
    public var method = "GET"
    /// Header fields, each as `Name: value`.
    ///
    /// After a redirect to another host, libcurl sends all of them except `Authorization` and `Cookie`. With
    /// `Accept-Encoding`, the body is decoded; with `Cookie`, cookies that the site sets are ignored.
    public var headers: [String] = []
    public var statusCodes = [200...299]
    /// The text that the first MiB of the body must contain, if any.
    public var contains: String?
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
    }

    public var subjectParts: [String] {
        let codes = statusCodes.map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: " ")
        let body = contains.map { ["contains", $0] } ?? []
        let slow = slow.map { ["slow", "\(Int($0 / .milliseconds(1)))"] } ?? []
        return [url, method, codes, certificateAuthority ?? "", String(redirects)] + headers + body + slow
    }
    public var requirements: [SourceRequirement] {
        [.library(Self.library, package: "libcurl4")] + (certificateAuthority.map { [.readableFile($0)] } ?? [])
    }
}

extension HTTPSettings {
    /// The maximum total length of all texts in bytes; they must fit into the message to the worker.
    private static let maximumBytes = 64 * 1024

    public static func read(_ node: YAMLNode, with reader: inout SettingsReader) throws(Problem) -> HTTPSettings? {
        let nodes = reader.nodes
        var settings = HTTPSettings(url: "")
        if node.mapping == nil {
            settings.url = try url(node, of: key, nodes)
        } else {
            try reader.readMapping(
                node, of: key, keys: ["url", "status", "contains", "ca", "method", "headers", "redirects", "slow"],
                example: "https://127.0.0.1:8443/health"
            ) { key, value, reader throws(Problem) in try settings.read(key, value, with: &reader) }
        }
        try settings.checkLength(at: node, nodes)
        if settings.contains != nil, settings.method == "HEAD" {
            throw nodes.problem(
                at: node, "“contains” cannot be combined with HEAD, whose response has no body; remove one of them")
        }
        settings.warnOfUnseen(at: node, with: &reader)
        return settings
    }

    /// The status codes of redirects that are followed (RFC 9110, section 15.4).
    public static let followed: Set = [301, 302, 303, 307, 308]

    /// Warns of status codes that a response never has.
    private func warnOfUnseen(at node: YAMLNode, with reader: inout SettingsReader) {
        let redirections = statusCodes.filter { !Self.followed.isDisjoint(with: $0) && $0.lowerBound >= 300 }
        if redirects > 0, !redirections.isEmpty {
            let codes = Self.text(of: redirections)
            reader.warn(
                at: node,
                "“status: \(codes)” is never seen, because redirects are followed; add “redirects: 0” to expect it")
        }
        if let early = statusCodes.first(where: { $0.upperBound < 200 && !$0.contains(101) }) {
            reader.warn(at: node, "“status: \(Self.text(of: [early]))” is never seen, because another response follows")
        }
        if contains != nil, statusCodes.allSatisfy({ $0 == 204...204 || $0 == 304...304 }) {
            reader.warn(at: node, "“contains” is never found, because a response with that status has no body")
        }
    }

    /// Returns ranges of status codes as in the configuration: `200, 300-399`.
    public static func text(of statusCodes: [ClosedRange<Int>]) -> String {
        statusCodes.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
            .joined(separator: ", ")
    }

    private func checkLength(at node: YAMLNode, _ nodes: NodeReader) throws(Problem) {
        let texts = [url, method, contains ?? "", certificateAuthority ?? ""] + headers
        guard texts.reduce(0, { $0 + $1.utf8.count }) <= Self.maximumBytes else {
            throw nodes.problem(
                at: node, "“http” must not contain more than \(Self.maximumBytes / 1024) KiB of text")
        }
    }

    private mutating func read(
        _ key: String, _ value: YAMLNode, with reader: inout SettingsReader
    ) throws(Problem) {
        let nodes = reader.nodes
        switch key {
        case "url": url = try Self.url(value, of: key, nodes)
        case "status": statusCodes = try Self.statusCodes(value, with: &reader)
        case "contains": contains = try nodes.string(value, of: key)
        case "ca": certificateAuthority = try Self.path(value, nodes)
        case "method": method = try Self.method(value, nodes)
        case "headers": headers = try Self.headers(value, with: &reader)
        case "redirects": redirects = try nodes.count(value, of: key, in: 0...20)
        case "slow": slow = try nodes.slow(value)
        default: break
        }
    }

    private static func url(_ node: YAMLNode, of key: String, _ nodes: NodeReader) throws(Problem) -> String {
        let what =
            "a URL that starts with http:// or https://, without spaces, and with a port from 1 to 65535 if any, "
            + "such as https://127.0.0.1:8443/health"
        let url = try nodes.string(node, of: key, what)
        let scheme = ["http://", "https://"].first { url.lowercased().hasPrefix($0) }
        let authority = scheme.map { url.dropFirst($0.count).prefix { !"/?#".contains($0) } } ?? ""
        // A user name and a password may precede the host.
        let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        guard HostAndPort(host) != nil, url.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            throw nodes.problem(at: node, "“\(key)” must be \(what)")
        }
        guard host.utf8.allSatisfy({ $0 < 0x80 }) else {
            throw nodes.problem(at: node, "the host of “\(key)” must be in ASCII; write it as xn--… (see idn2(1))")
        }
        return url
    }

    /// Reads `200`, `200-299`, or a list of these.
    private static func statusCodes(
        _ node: YAMLNode, with reader: inout SettingsReader
    ) throws(Problem) -> [ClosedRange<Int>] {
        let nodes = reader.nodes
        guard let elements = node.sequence else { return [try statusRange(node, nodes)] }
        let ranges = try reader.readEach(of: elements) { element throws(Problem) in try statusRange(element, nodes) }
        if ranges.isEmpty { throw nodes.problem(at: node, "“status” must have at least one status code") }
        return ranges
    }

    private static func statusRange(_ node: YAMLNode, _ nodes: NodeReader) throws(Problem) -> ClosedRange<Int> {
        let bounds = (node.string ?? "").split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
        guard let first = bounds.first ?? nil, let last = bounds.last ?? nil, bounds.count <= 2, first <= last,
            (100...599).contains(first), (100...599).contains(last)
        else {
            throw nodes.problem(
                at: node,
                "“status” must be an HTTP status code from 100 to 599, a range or a list, "
                    + "such as 200, 200-299 or [200, 204]")
        }
        return first...last
    }

    private static func path(_ node: YAMLNode, _ nodes: NodeReader) throws(Problem) -> String {
        let what = "the absolute path of a PEM file with certificates"
        let path = try nodes.string(node, of: "ca", what)
        guard path.hasPrefix("/") else { throw nodes.problem(at: node, "“ca” must be \(what)") }
        return path
    }

    private static func method(_ node: YAMLNode, _ nodes: NodeReader) throws(Problem) -> String {
        let method = try nodes.string(node, of: "method", "an HTTP method in capitals, such as GET or HEAD")
        guard method.utf8.allSatisfy({ $0 >= 0x41 && $0 <= 0x5A }) else {
            throw nodes.problem(at: node, "“method” must be an HTTP method in capitals, such as GET or HEAD")
        }
        return method
    }

    private static func headers(
        _ node: YAMLNode, with reader: inout SettingsReader
    ) throws(Problem) -> [String] {
        let nodes = reader.nodes
        guard let mapping = node.mapping else {
            throw nodes.problem(at: node, "“headers” must be a mapping such as “{ Accept: text/plain }”")
        }
        return try reader.readEach(of: mapping) { entry throws(Problem) in try header(entry.key, entry.value, nodes) }
    }

    private static func header(_ key: YAMLNode, _ value: YAMLNode, _ nodes: NodeReader) throws(Problem) -> String {
        guard let name = key.string, isToken(name) else {
            // The rest is not shown, because it may be a secret value.
            let start = VisibleText.escape(String((key.string ?? "").prefix { isToken(String($0)) }))
            let advice =
                key.string?.contains(":") == true
                ? "; write a space after the colon, as in “Accept: text/plain”"
                : ": must be letters, digits and hyphens"
            throw nodes.problem(at: key, "invalid header field name “\(start)…”\(advice)")
        }
        // Null is refused: it would be sent as “~” or “null”.
        guard let text = value.string, !value.isNull, text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 })
        else {
            let advice = value.isNull ? "; quote it" : ""
            throw nodes.problem(at: value, "the value of header field “\(name)” must be one line of text\(advice)")
        }
        return "\(name): \(text)"
    }

    /// Whether a text is a token (RFC 9110, section 5.6.2).
    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                byte > 0x20 && byte < 0x7F && !"\"(),/:;<=>?@[\\]{}".utf8.contains(byte)
            }
    }
}
