// SPDX-License-Identifier: Apache-2.0

public import YAML

/// `process: sshd`, `process: { name: sshd, user: root, count: 1..10 }`: how many processes have a name.
public struct ProcessSettings: SourceSettings {
    public static let key = "process"
    public static let delivery = SourceDelivery.checked
    public static let keys = ["name", "user", "count"]

    /// The length to which the kernel cuts the name of a process (TASK_COMM_LEN, without its zero byte).
    public static let maximumName = 15
    /// The maximum process ID of Linux.
    private static let maximumCount = 1 << 22

    /// The name, as pgrep(1) and ps(1) show it.
    ///
    /// If it is longer than the kernel keeps, the rest must be in the process's arguments.
    public var name: String
    /// The name or ID of the user as whom the processes must run; nil for any user.
    public var user: String?
    public var least = 1
    /// The largest number; nil for no limit.
    public var most: Int?

    public init(name: String) { self.name = name }

    public var subjectParts: [String] {
        [name, String(least), most.map { String($0) } ?? ""] + (user.map { ["user", $0] } ?? [])
    }
    public var requirements: [SourceRequirement] { user.map { [.account($0)] } ?? [] }

    public static func read(_ node: YAMLNode, with reader: inout SettingsReader) throws(Problem) -> ProcessSettings? {
        if node.mapping == nil { return ProcessSettings(name: try name(node, of: key, &reader)) }
        var settings = ProcessSettings(name: "")
        try reader.readMapping(node, of: key, keys: keys, example: "sshd") {
            key, value, reader throws(Problem) in
            switch key {
            case "name": settings.name = try name(value, of: key, &reader)
            case "user": settings.user = try reader.nodes.string(value, of: key, "the name or ID of a user")
            default: (settings.least, settings.most) = try count(value, of: key, reader.nodes)
            }
        }
        return settings
    }

    private static func name(
        _ node: YAMLNode, of key: String, _ reader: inout SettingsReader
    ) throws(Problem) -> String {
        let nodes = reader.nodes
        let what = "the name of a process as ps(1) shows it, without a folder and arguments, such as sshd"
        let name = try nodes.string(node, of: key, what)
        // Some programs change their names, as in `tmux: server`.
        if let blank = name.firstIndex(of: " "), !name[..<blank].hasSuffix(":") {
            reader.warn(at: node, "“\(nodes.key(node))” is compared with names, which have no arguments")
        }
        let isPattern = name.contains { "*?[".contains($0) }
        guard !node.isTrueOrFalse, !name.hasPrefix("/"), !name.contains("\n"), !isPattern else {
            throw nodes.problem(at: node, "“\(key)” must be \(what), and is no pattern")
        }
        return name
    }

    /// Reads `3`, `1..10` or `2..`.
    private static func count(
        _ node: YAMLNode, of key: String, _ nodes: NodeReader
    ) throws(Problem) -> (least: Int, most: Int?) {
        func number(_ text: Substring) -> Int? { Count.parse(String(text)).flatMap { $0 <= maximumCount ? $0 : nil } }
        let text = (node.string ?? "")[...]
        let (first, rest) = (text.prefix { $0 != "." }, text.drop { $0 != "." })
        let last = rest.dropFirst(2)
        if let least = number(first) {
            if rest.isEmpty { return (least, least) }
            if rest == ".." { return (least, nil) }
            if rest.hasPrefix(".."), let most = number(last), least <= most { return (least, most) }
        }
        throw nodes.problem(at: node, "“\(key)” must be a number such as 3 or 0, or a range such as 1..10 or 2..")
    }
}
