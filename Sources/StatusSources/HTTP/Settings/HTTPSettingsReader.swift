// SPDX-License-Identifier: Apache-2.0

import StatusModel
import YAML

/// Reads what is asked of an HTTP server.
struct HTTPSettingsReader {
    private(set) var reader: SettingsReader
    private var nodes: NodeReader { reader.nodes }

    /// How long all texts may be together: they must fit into the message that has the request made.
    private static let maximumBytes = 64 * 1024
    private static let keys = ["url", "status", "contains", "ca", "method", "headers", "redirects"]

    init(_ reader: SettingsReader) { self.reader = reader }

    /// Reads a URL, or a mapping that has one.
    mutating func read(_ node: YAMLNode) throws(Problem) -> HTTPSettings {
        guard let mapping = node.mapping else {
            let settings = HTTPSettings(url: try url(node, of: "http"))
            try checkLength(of: settings, at: node)
            return settings
        }
        var settings = HTTPSettings(url: "")
        var errors: [Problem] = []
        for (key, value) in mapping {
            do throws(Problem) { try read(key, value, into: &settings) } catch { errors.append(error) }
        }
        if !mapping.contains(where: { $0.key.string == "url" }) {
            errors.append(nodes.problem(at: node, "“http” needs a “url”, such as https://127.0.0.1:8443/health"))
        }
        try reader.throwFirst(of: errors)
        try checkLength(of: settings, at: node)
        if settings.contains != nil, settings.method == "HEAD" {
            throw nodes.problem(
                at: node, "“contains” needs a body, which the response to HEAD does not have; remove one of them")
        }
        return settings
    }

    private func checkLength(of http: HTTPSettings, at node: YAMLNode) throws(Problem) {
        let texts = [http.url, http.method, http.contains ?? "", http.certificateAuthority ?? ""] + http.headers
        guard texts.reduce(0, { $0 + $1.utf8.count }) <= Self.maximumBytes else {
            throw nodes.problem(
                at: node, "the texts of “http” may have at most \(Self.maximumBytes / 1024) KiB together")
        }
    }

    private mutating func read(
        _ key: YAMLNode, _ value: YAMLNode, into settings: inout HTTPSettings
    ) throws(Problem) {
        switch key.string {
        case "url": settings.url = try url(value, of: "url")
        case "status": settings.statusCodes = try statusCodes(value)
        case "contains": settings.contains = try nodes.string(value, of: "contains")
        case "ca": settings.certificateAuthority = try path(value)
        case "method": settings.method = try method(value)
        case "headers": settings.headers = try headers(value)
        case "redirects": settings.redirects = try nodes.count(value, of: "redirects", in: 0...20)
        default: reader.noteUnknown(key, among: Self.keys, within: HTTPSettings.key)
        }
    }

    private func url(_ node: YAMLNode, of key: String) throws(Problem) -> String {
        let what =
            "a URL that starts with http:// or https://, without spaces, and with a port from 1 to 65535 if any, such as https://127.0.0.1:8443/health"
        let url = try nodes.string(node, of: key, what)
        let scheme = ["http://", "https://"].first { url.lowercased().hasPrefix($0) }
        let authority = scheme.map { url.dropFirst($0.count).prefix { !"/?#".contains($0) } } ?? ""
        // A name and password may stand before the host.
        let place = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        guard HostAndPort(place) != nil, url.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            throw nodes.problem(at: node, "“\(key)” must be \(what)")
        }
        guard place.utf8.allSatisfy({ $0 < 0x80 }) else {
            throw nodes.problem(at: node, "the host of “\(key)” must be in ASCII; write it as xn--… (see idn2(1))")
        }
        return url
    }

    /// `200`, `200-299`, or a list of such.
    private mutating func statusCodes(_ node: YAMLNode) throws(Problem) -> [ClosedRange<Int>] {
        guard let elements = node.sequence else { return [try statusRange(node)] }
        let ranges = try reader.readEach(of: elements, statusRange)
        if ranges.isEmpty { throw nodes.problem(at: node, "“status” must have at least one status code") }
        return ranges
    }

    private func statusRange(_ node: YAMLNode) throws(Problem) -> ClosedRange<Int> {
        let bounds = (node.string ?? "").split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
        guard let first = bounds.first ?? nil, let last = bounds.last ?? nil, bounds.count <= 2, first <= last,
            (100...599).contains(first), (100...599).contains(last)
        else {
            throw nodes.problem(
                at: node,
                "“status” must be an HTTP status code from 100 to 599, a range or a list, such as 200, 200-299 or [200, 204]"
            )
        }
        return first...last
    }

    private func path(_ node: YAMLNode) throws(Problem) -> String {
        let what = "the absolute path of a PEM file with certificates"
        let path = try nodes.string(node, of: "ca", what)
        guard path.hasPrefix("/") else { throw nodes.problem(at: node, "“ca” must be \(what)") }
        return path
    }

    private func method(_ node: YAMLNode) throws(Problem) -> String {
        let method = try nodes.string(node, of: "method", "an HTTP method in capitals, such as GET or HEAD")
        guard method.utf8.allSatisfy({ $0 >= 0x41 && $0 <= 0x5A }) else {
            throw nodes.problem(at: node, "“method” must be an HTTP method in capitals, such as GET or HEAD")
        }
        return method
    }

    private mutating func headers(_ node: YAMLNode) throws(Problem) -> [String] {
        guard let mapping = node.mapping else {
            throw nodes.problem(at: node, "“headers” must be a mapping such as “{ Accept: text/plain }”")
        }
        return try reader.readEach(of: mapping) { [self] entry throws(Problem) in try header(entry.key, entry.value) }
    }

    private func header(_ key: YAMLNode, _ value: YAMLNode) throws(Problem) -> String {
        guard let name = key.string, Self.isToken(name) else {
            // What follows may be a value, and so a secret.
            let start = VisibleText.escape(String((key.string ?? "").prefix { Self.isToken(String($0)) }))
            throw nodes.problem(
                at: key,
                "invalid header field name “\(start)…”; write a space after the colon, as in “Accept: text/plain”")
        }
        guard let text = value.string, text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 })
        else {
            throw nodes.problem(at: value, "the value of header field “\(name)” must be one line of text")
        }
        return "\(name): \(text)"
    }

    /// Whether it is a token of RFC 9110, section 5.6.2.
    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                byte > 0x20 && byte < 0x7F && !"\"(),/:;<=>?@[\\]{}".utf8.contains(byte)
            }
    }
}
