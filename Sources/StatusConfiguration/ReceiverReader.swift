// SPDX-License-Identifier: Apache-2.0

public import SourceKinds
public import StatusAlerts
import StatusModel
import YAML

/// An entry of `alerts`: a program that tells people.
public struct ReceiverConfiguration: Equatable, Sendable {
    /// The absolute path of the program, and its arguments.
    public var command: [String]
    public var settings = AlertReceiver()
    /// How long the program may run.
    public var timeout = Duration.seconds(30)
    /// The names of the credentials that the program gets (`LoadCredential=` of its service).
    public var credentials: [String] = []
    /// The file and line of the entry.
    public var origin: Origin

    public init(command: [String], origin: Origin) { (self.command, self.origin) = (command, origin) }
}

/// Reads one receiver's mapping.
struct ReceiverReader {
    static let keys = ["run", "levels", "batch", "repeat", "servers", "timeout", "credentials"]
    private static let longest = Duration.seconds(366 * 86_400)
    /// The maximum length of the command in bytes; it must fit into the message to the worker.
    private static let maximumBytes = 16 * 1024

    let reader: NodeReader
    private(set) var problems: [Problem] = []

    init(_ reader: NodeReader) { self.reader = reader }

    /// The rule for the names of receivers, which is that of servers.
    mutating func read(_ key: YAMLNode, _ node: YAMLNode) throws(Problem) -> (String, ReceiverConfiguration) {
        guard let name = key.string.flatMap({ ServerName($0) })?.rawValue else {
            throw reader.problem(
                at: key, "invalid name “\(reader.key(key))” of a receiver: it \(ServerName.rule)")
        }
        guard let mapping = node.mapping else {
            if Self.keys.contains(name) {
                throw reader.problem(
                    at: key, "“\(name)” belongs to a receiver with a name: alerts: { mail: { \(name): … } }")
            }
            throw reader.problem(at: node, "“\(name)” must be a mapping such as “{ run: [/usr/bin/program] }”")
        }
        var receiver = ReceiverConfiguration(command: [], origin: reader.origin(of: key))
        for (key, value) in mapping { try read(key, value, into: &receiver) }
        guard !receiver.command.isEmpty else {
            throw reader.problem(at: node, "“\(name)” needs “run”, the program that tells people")
        }
        return (name, receiver)
    }

    private mutating func read(
        _ key: YAMLNode, _ value: YAMLNode, into receiver: inout ReceiverConfiguration
    ) throws(Problem) {
        let second = Duration.seconds(1)
        switch key.string {
        case "run": receiver.command = try readCommand(value)
        case "levels": receiver.settings.levels = try readLevels(value)
        case "batch": receiver.settings.batch = try reader.duration(value, of: "batch", in: .zero...second * 3600)
        case "repeat":
            receiver.settings.repetition = try reader.duration(value, of: "repeat", in: second * 60...Self.longest)
        case "servers":
            let what = "a list of names, such as [web, \"db*\"]"
            receiver.settings.servers = try reader.strings(value, of: "servers", what)
        case "timeout": receiver.timeout = try reader.duration(value, of: "timeout", in: second...second * 600)
        case "credentials": receiver.credentials = try readCredentials(value)
        default: problems.append(reader.unknown(key, among: Self.keys, within: "alerts"))
        }
    }

    private func readCommand(_ node: YAMLNode) throws(Problem) -> [String] {
        let what =
            "a list of the absolute path of a program and its arguments, such as [/usr/lib/statusd/alerts/mail, root]"
        let command = try reader.strings(node, of: "run", what)
        guard command.first?.hasPrefix("/") == true else { throw reader.problem(at: node, "“run” must be \(what)") }
        guard command.reduce(0, { $0 + $1.utf8.count }) <= Self.maximumBytes else {
            throw reader.problem(at: node, "“run” is longer than \(Self.maximumBytes / 1024) KiB; use a script")
        }
        return command
    }

    private func readLevels(_ node: YAMLNode) throws(Problem) -> Set<Level> {
        let what = "a list of warning, critical and unknown"
        let levels = try reader.strings(node, of: "levels", what).map { Level(rawValue: $0) }
        guard !levels.isEmpty, !levels.contains(nil), !levels.contains(.ok) else {
            throw reader.problem(at: node, "“levels” must be \(what); recoveries are always told")
        }
        return Set(levels.compactMap(\.self))
    }

    /// The names of files: systemd's rule for the names of credentials (systemd.exec(5)).
    private func readCredentials(_ node: YAMLNode) throws(Problem) -> [String] {
        let names = try reader.strings(node, of: "credentials", "a list of names, such as [ntfy]")
        if let name = names.first(where: { $0.isEmpty || $0.contains("/") || $0.hasPrefix(".") }) {
            throw reader.problem(at: node, "invalid name “\(VisibleText.escape(name))” in “credentials”")
        }
        return names
    }
}

/// `alert: { after: 1min, clear: 2min }` of a server or of `defaults`, or `alert: false`.
struct AlertOptions: Equatable, Sendable {
    var isOn: Bool?
    var after: Duration?
    var clear: Duration?

    func over(_ others: AlertOptions?) -> AlertOptions {
        AlertOptions(isOn: isOn ?? others?.isOn, after: after ?? others?.after, clear: clear ?? others?.clear)
    }

    var rule: AlertRule {
        var rule = AlertRule()
        (rule.isOn, rule.after, rule.clear) = (isOn ?? true, after ?? .zero, clear ?? .zero)
        return rule
    }

    static func read(_ node: YAMLNode, with reader: NodeReader) throws(Problem) -> AlertOptions {
        if let isOn = node.bool { return AlertOptions(isOn: isOn) }
        guard let mapping = node.mapping else {
            throw reader.problem(at: node, "“alert” must be a mapping such as “{ after: 1min }”, or false")
        }
        var options = AlertOptions()
        for (key, value) in mapping {
            let range = Duration.zero...Duration.seconds(30 * 86_400)
            switch key.string {
            case "after": options.after = try reader.duration(value, of: "after", in: range)
            case "clear": options.clear = try reader.duration(value, of: "clear", in: range)
            default:
                throw reader.problem(
                    at: key, "unknown key “\(reader.key(key))” in “alert”; known keys are “after”, “clear”")
            }
        }
        return options
    }
}
