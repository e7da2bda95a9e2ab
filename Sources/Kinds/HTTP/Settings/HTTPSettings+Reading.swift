// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusSupport
public import YAML

extension HTTPSettings {
    /// The maximum total length of all texts in bytes; they must fit into the message to the worker.
    private static let maximumBytes = 64 * 1024

    public static func read(_ node: YAMLNode, with reader: inout SettingsReader) throws(Problem) -> HTTPSettings? {
        let nodes = reader.nodes
        var settings = HTTPSettings(url: "")
        if node.mapping == nil {
            settings.url = try url(node, of: key, nodes)
        } else {
            var hasMethod = false
            try reader.readMapping(node, of: key, keys: keys, example: "https://127.0.0.1:8443/health") {
                key, value, reader throws(Problem) in
                if key == "method" { hasMethod = true }
                try settings.read(key, value, with: &reader)
            }
            if settings.body != nil, !hasMethod { settings.method = "POST" }
        }
        try settings.checkLength(at: node, nodes)
        try settings.checkCombinations(at: node, nodes)
        settings.warnOfUnseen(at: node, with: &reader)
        return settings
    }

    public static let keys = [
        "url", "socket", "method", "headers", "body", "status", "contains", "matches", "json", "slow", "expires", "ca",
        "redirects", "proxy",
    ]

    /// The keys in the configuration that are about the body of the response.
    private var bodyKeys: [String] {
        (contains == nil ? [] : ["contains"]) + (matches == nil ? [] : ["matches"]) + (json == nil ? [] : ["json"])
    }

    private func checkCombinations(at node: YAMLNode, _ nodes: NodeReader) throws(Problem) {
        if let key = bodyKeys.first, method == "HEAD" {
            throw nodes.problem(
                at: node, "“\(key)” cannot be combined with HEAD, whose response has no body; remove one of them")
        }
        if body != nil, method == "HEAD" {
            throw nodes.problem(at: node, "“body” cannot be combined with HEAD; remove one of them")
        }
        if socket != nil, proxy != nil {
            throw nodes.problem(at: node, "“proxy” cannot be combined with “socket”; remove one of them")
        }
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
        if let key = bodyKeys.first, statusCodes.allSatisfy({ $0 == 204...204 || $0 == 304...304 }) {
            let verb = key == "contains" ? "is never found" : "never holds"
            reader.warn(at: node, "“\(key)” \(verb), because a response with that status has no body")
        }
    }

    /// Returns ranges of status codes as in the configuration: `200, 300-399`.
    public static func text(of statusCodes: [ClosedRange<Int>]) -> String {
        statusCodes.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
            .joined(separator: ", ")
    }

    private func checkLength(at node: YAMLNode, _ nodes: NodeReader) throws(Problem) {
        let optional = [contains, matches, json?.path.text, body, socket, proxy, certificateAuthority]
        let others = (json?.equals?.parts ?? []) + credentials.flatMap { [$0.field, $0.name] }
        let texts = [url, method] + optional.map { $0 ?? "" } + headers + others
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
        case "socket": socket = try Self.socket(value, nodes)
        case "method": method = try Self.method(value, nodes)
        case "headers": (headers, credentials) = try Self.headers(value, with: &reader)
        case "body": body = try nodes.string(value, of: key)
        case "matches": matches = try Self.pattern(value, nodes)
        case "json": json = try JSONExpectation.read(value, with: &reader)
        case "expires": expires = Self.isOff(value) ? nil : try ExpiryLimits.read(value, nodes)
        case "proxy": proxy = try Self.proxy(value, nodes)
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

    static func path(_ node: YAMLNode, _ nodes: NodeReader) throws(Problem) -> String {
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

    private static func socket(_ node: YAMLNode, _ nodes: NodeReader) throws(Problem) -> String {
        let what = "the absolute path of a Unix socket with at most 107 bytes, such as /run/docker.sock"
        let path = try nodes.string(node, of: "socket", what)
        guard path.hasPrefix("/"), path.utf8.count <= 107 else {
            throw nodes.problem(at: node, "“socket” must be \(what)")
        }
        return path
    }

    /// Whether a value turns a setting off: `false`, or no time.
    private static func isOff(_ node: YAMLNode) -> Bool {
        node.bool == false || TimeSpan.parse(node.string ?? "") == .zero
    }

    /// Reads a regular expression, which is checked if its library is installed.
    private static func pattern(_ node: YAMLNode, _ nodes: NodeReader) throws(Problem) -> String {
        let pattern = try nodes.string(node, of: "matches", "a regular expression")
        guard pattern.utf8.count <= RegularExpression.maximumBytes else {
            let limit = RegularExpression.maximumBytes / 1024
            throw nodes.problem(at: node, "“matches” must not be longer than \(limit) KiB")
        }
        do throws(RegularExpression.Failure) {
            _ = try RegularExpression(pattern)
        } catch {
            if case .invalid(let reason) = error {
                throw nodes.problem(at: node, "“matches” is not a regular expression: \(reason)")
            }
        }
        return pattern
    }

    /// Reads the URL of a proxy; an error does not show it, because it may have a password.
    private static func proxy(_ node: YAMLNode, _ nodes: NodeReader) throws(Problem) -> String {
        let what = "a URL such as http://127.0.0.1:3128, or with socks5:// or socks5h:// and a port"
        let url = try nodes.string(node, of: "proxy", what)
        let scheme = ["http://", "socks5://", "socks5h://"].first { url.lowercased().hasPrefix($0) }
        let authority = scheme.map { url.dropFirst($0.count) } ?? ""
        let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        let address = HostAndPort(host.hasSuffix("/") ? host.dropLast() : host)
        guard address?.port != nil, url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw nodes.problem(at: node, "“proxy” must be \(what)")
        }
        return url
    }
}
