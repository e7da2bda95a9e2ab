// SPDX-License-Identifier: Apache-2.0

import StatusModel
public import YAML

/// `file: { path: /backup/db-*.dump, age: 26h, size: 1M }`: a file that must exist, be new enough and large enough.
public struct FileSettings: SourceSettings {
    public static let key = "file"
    public static let delivery = SourceDelivery.checked
    public static let keys = ["path", "age", "size", "exists"]

    private static let longestAge = Duration.seconds(100 * 366 * 86_400)

    /// The absolute path, or a glob(7) pattern whose newest matching regular file counts.
    public var path: String
    /// The maximum age; nil for no limit.
    public var age: Duration?
    /// The minimum size in bytes; nil for no limit.
    public var size: Int?
    /// Whether the file must exist; if false, it must not.
    public var exists = true

    public init(path: String) { self.path = path }

    public var subjectParts: [String] {
        [path, age.map { "\($0.components.seconds)" } ?? "", size.map { String($0) } ?? "", String(exists)]
    }
    public var requirements: [SourceRequirement] { [.visiblePath(String(beginning))] }

    /// The path up to its first component with a pattern.
    private var beginning: Substring {
        let slashes = path.indices.filter { path[$0] == "/" }.dropFirst() + [path.endIndex]
        return slashes.lazy.map { path[..<$0] }.first(where: Self.isPattern) ?? path[...]
    }

    public var hasPattern: Bool { Self.isPattern(path[...]) }
    public var hasPatternInDirectory: Bool { Self.isPattern(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]) }

    private static func isPattern(_ path: Substring) -> Bool { path.contains { "*?[".contains($0) } }

    public static func read(_ node: YAMLNode, with reader: inout SettingsReader) throws(Problem) -> FileSettings? {
        if node.mapping == nil { return FileSettings(path: try path(node, of: key, &reader)) }
        var settings = FileSettings(path: "")
        try reader.readMapping(
            node, of: key, keys: keys, example: "/var/backups/db.dump"
        ) { key, value, reader throws(Problem) in try settings.read(key, value, &reader) }
        if !settings.exists, settings.age != nil || settings.size != nil {
            throw reader.nodes.problem(
                at: node, "“exists: false” cannot be combined with “age” or “size”; remove one of them")
        }
        return settings
    }

    private mutating func read(
        _ key: String, _ value: YAMLNode, _ reader: inout SettingsReader
    ) throws(Problem) {
        let nodes = reader.nodes
        switch key {
        case "path": path = try Self.path(value, of: key, &reader)
        case "age": age = try nodes.duration(value, of: key, in: .seconds(1)...Self.longestAge)
        case "size": size = try nodes.count(value, of: key, in: 1...1 << 50)
        case "exists": exists = try nodes.flag(value, of: key)
        default: break
        }
    }

    private static func path(
        _ node: YAMLNode, of key: String, _ reader: inout SettingsReader
    ) throws(Problem) -> String {
        let nodes = reader.nodes
        let what =
            "the absolute path of a file, without a final “/”, such as /var/backups/db.dump or /var/backups/db-*.dump"
        let path = try nodes.string(node, of: key, what)
        // PATH_MAX includes the terminating zero.
        guard path.hasPrefix("/"), !path.hasSuffix("/"), path.utf8.count < 4096 else {
            throw nodes.problem(at: node, "“\(key)” must be \(what)")
        }
        if let last = path.unicodeScalars.last,
            last.properties.isWhitespace || last.properties.isDefaultIgnorableCodePoint
        {
            let code = String(last.value, radix: 16, uppercase: true)
            reader.warn(at: node, "“\(key)” ends with an invisible character, U+\(code), which is a part of the name")
        }
        if path.split(separator: "/").contains("**") {
            reader.warn(
                at: node,
                "“**” in “\(key)” means “*” and does not go into folders below; write a pattern for each depth")
        } else if let part = unexpanded(in: path) {
            reader.warn(
                at: node,
                "\(part) in “\(key)” stands for itself; the only patterns are *, ? and […] of glob(7)")
        }
        return path
    }

    /// The part of a path that a shell would replace, or match by other rules.
    private static func unexpanded(in path: String) -> String? {
        if let open = path.firstIndex(of: "{"), let close = path[open...].firstIndex(of: "}"),
            path[open..<close].contains(where: { $0 == "," || $0 == "." })
        {
            return VisibleText.escape("“\(path[open...close])”")
        }
        return path.split(separator: "/").first { part in
            let scalars = Array(part.unicodeScalars)
            // A variable or command of a shell, the time for date(1), an extended pattern, or a specifier of systemd.
            let isExpanded = zip(scalars, scalars.dropFirst()).contains { first, second in
                switch first {
                case "$": second.properties.isUppercase || second == "(" || second == "{"
                case "%": second.properties.isAlphabetic
                case "@", "+", "!": second == "("
                case "\\": !"*?[".unicodeScalars.contains(second)
                default: false
                }
            }
            let isOpen = part.hasPrefix("[") || zip(scalars, scalars.dropFirst()).contains { $0 != "\\" && $1 == "[" }
            return isExpanded || isOpen && !part.contains("]") || part.hasPrefix("~") || part.hasPrefix("$")
        }.map { VisibleText.escape("“\($0)”") }
    }
}
