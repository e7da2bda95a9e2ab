// SPDX-License-Identifier: Apache-2.0

import StatusModel
public import YAML

/// `exec: [/path, argument]`: a plugin with the Nagios plugin interface.
public struct ExecSettings: SourceSettings {
    public static let key = "exec"
    public static let delivery = SourceDelivery.checked

    /// The maximum length of the command in bytes; it must fit into the message to the worker.
    private static let maximumBytes = 16 * 1024

    /// The absolute path of the plugin and its arguments.
    public var command: [String]

    public init(command: [String]) { self.command = command }

    public var subjectParts: [String] { command }
    public var requirements: [SourceRequirement] { [.program(command[0])] }

    /// Why a plugin of the executor's service does not see what an argument names on the host; nil if it sees all.
    public var hiddenArgument: String? {
        for argument in command.dropFirst() {
            // The argument may also be a script, an option with a value, or a list.
            for word in argument.split(whereSeparator: { " \t\n\"'`=:;,()<>|&${}".contains($0) }) {
                let path = word.hasPrefix("-") ? word.drop { $0 != "/" } : word
                // A link on all hosts.
                let target = path.hasPrefix("/var/run/") || path == "/var/run" ? path.dropFirst(4) : path
                // bash opens connections at these.
                if target.hasPrefix("/dev/tcp/") || target.hasPrefix("/dev/udp/") { continue }
                if let obstacle = ServiceSandbox.executor.obstacle(to: String(target)) {
                    return "the plugin does not see the host's \(VisibleText.escape(String(path))): \(obstacle)"
                }
            }
        }
        return nil
    }

    public static func read(_ node: YAMLNode, with reader: inout SettingsReader) throws(Problem) -> ExecSettings? {
        let what =
            "a list of the absolute path of the plugin and its arguments, "
            + "such as [/usr/lib/nagios/plugins/check_disk, -w, 10%]"
        let command = try reader.nodes.strings(node, of: key, what)
        guard let path = command.first, path.hasPrefix("/") else {
            throw reader.nodes.problem(at: node, "“exec” must be \(what)")
        }
        guard command.reduce(0, { $0 + $1.utf8.count }) <= maximumBytes else {
            throw reader.nodes.problem(at: node, "“exec” is longer than \(maximumBytes / 1024) KiB; use a script")
        }
        warn(of: node.sequence ?? [], with: &reader)
        return ExecSettings(command: command)
    }

    /// Warns of arguments that were probably meant to be something else.
    private static func warn(of nodes: [YAMLNode], with reader: inout SettingsReader) {
        var run: [YAMLNode] = []
        // Whoever writes a blank after a comma means something by leaving it out.
        let usesBlanks = zip(nodes, nodes.dropFirst()).contains { $0.mark.line == $1.mark.line && !$1.follows($0) }
        for node in nodes {
            if let last = run.last, node.follows(last), usesBlanks || isNumber(last) && isNumber(node) {
                run.append(node)
                continue
            }
            warn(ofList: run, with: &reader)
            run = [node]
        }
        warn(ofList: run, with: &reader)
        for node in nodes.dropFirst() { warn(ofTwo: node, with: &reader) }
        guard let path = nodes.first?.string, !shells.contains(where: path.hasSuffix) else { return }
        if let node = nodes.dropFirst().first(where: isForShell), let text = node.string {
            reader.warn(
                at: node,
                "the plugin gets “\(VisibleText.escape(text))” as it is, because no shell runs it; "
                    + "write [/bin/sh, -c, \"…\"] if a shell should")
        }
    }

    /// Warns of `5,4,3` without quotes, which a list like `[/path, -w, 5,4,3]` takes apart.
    private static func warn(ofList nodes: [YAMLNode], with reader: inout SettingsReader) {
        let texts = nodes.compactMap(\.string)
        guard texts.count > 1 else { return }
        let list = VisibleText.escape(texts.joined(separator: ","))
        reader.warn(
            at: nodes[0],
            "“\(list)” is \(texts.count) arguments, the first of which is “\(VisibleText.escape(texts[0]))”; "
                + "write \"\(list)\" in quotes if it is one")
    }

    /// Warns of `-H 127.0.0.1` and `“hi”` without quotes, which YAML takes for one text with a blank or with quotes.
    private static func warn(ofTwo node: YAMLNode, with reader: inout SettingsReader) {
        guard case .scalar(let text, isPlain: true) = node.content else { return }
        let shown = VisibleText.escape(text)
        if "“”„‘’«»".contains(where: { text.first == $0 }) {
            reader.warn(at: node, "the quotes of \(shown) are part of the argument; write straight ones, \" or '")
        } else if text.hasPrefix("-"), let blank = text.firstIndex(of: " ") {
            let rest = VisibleText.escape(String(text[blank...].drop { $0 == " " }))
            let option = VisibleText.escape(String(text[..<blank]))
            reader.warn(at: node, "“\(shown)” is one argument; write \(option), \(rest), or quote it if it is one")
        }
    }

    private static let shells = ["/sh", "/bash", "/dash", "/zsh", "/ksh", "/env"]
    private static let operators: Set = [
        "|", "||", "&", "&&", ";", ">", ">>", "<", "2>&1", "2>/dev/null", ">/dev/null",
    ]

    /// Whether a shell would replace an argument, or take it for an operator.
    private static func isForShell(_ node: YAMLNode) -> Bool {
        guard let text = node.string else { return false }
        let name = text.dropFirst().first
        return operators.contains(text) || text.hasPrefix("~/")
            || text.hasPrefix("$") && name.map { $0 == "(" || $0 == "{" || $0 == "_" || $0.isLetter } == true
    }

    /// Whether an argument is a number or a range of the plugin interface, such as `5`, `10%`, `@1:2` or `~:3`.
    private static func isNumber(_ node: YAMLNode) -> Bool {
        let start = node.string?.drop { "-@~:.".contains($0) }.first
        return start.map { $0.isASCII && $0.isNumber } ?? false
    }
}

extension YAMLNode {
    /// Whether only a comma is between two texts without quotes.
    fileprivate func follows(_ other: YAMLNode) -> Bool {
        guard case .scalar(_, isPlain: true) = content, case .scalar(let text, isPlain: true) = other.content else {
            return false
        }
        return mark.line == other.mark.line && mark.column == other.mark.column + text.unicodeScalars.count + 1
    }
}
