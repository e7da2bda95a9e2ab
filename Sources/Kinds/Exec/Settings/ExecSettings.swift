// SPDX-License-Identifier: Apache-2.0

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
        return ExecSettings(command: command)
    }
}
