// SPDX-License-Identifier: Apache-2.0

import StatusModel
import YAML

/// Reads where a server's statuses come from.
struct SourceReader {
    let reader: NodeReader
    private let name: ServerName
    /// Warnings, and mistakes behind the first one.
    private(set) var problems: [Problem] = []

    init(_ reader: NodeReader, name: ServerName) {
        self.reader = reader
        self.name = name
    }

    /// The keys that are a source each.
    static let keys = ["push", "notify", "unit", "exec", "tcp", "http"]

    /// Reads the value of one of ``keys``; nil where it says that the source is off.
    mutating func read(_ key: String, _ node: YAMLNode) throws(Problem) -> SourceConfiguration? {
        switch key {
        case "push": try reader.flag(node, of: "push") ? .push : nil
        case "notify": try notify(node)
        case "unit": .unit(try unit(node))
        case "exec": .exec(try command(node))
        case "tcp": try endpoint(node)
        default: .http(try http(node))
        }
    }

    private func notify(_ node: YAMLNode) throws(Problem) -> SourceConfiguration? {
        guard let mapping = node.mapping else {
            guard let isOn = node.bool else {
                throw reader.problem(
                    at: node, "“notify” must be true, false or a mapping such as “{ users: [postgres] }”")
            }
            return isOn ? .notify(users: []) : nil
        }
        var users: [String] = []
        for (key, value) in mapping {
            guard key.string == "users" else {
                throw reader.problem(at: key, "“notify” knows only “users”, not “\(reader.key(key))”")
            }
            users = try reader.strings(value, of: "users", "a list of user names or numbers")
        }
        return .notify(users: users)
    }

    private func unit(_ node: YAMLNode) throws(Problem) -> String {
        let text = try reader.string(node, of: "unit", "a unit's name, such as nginx.service")
        guard let name = UnitName.normalize(text) else {
            throw reader.problem(
                at: node,
                "“\(reader.key(node))” is not the name of a unit; write one such as nginx.service or backup@home.service"
            )
        }
        return name
    }

    private func command(_ node: YAMLNode) throws(Problem) -> [String] {
        let what =
            "a list, the command's absolute path and its arguments, such as [/usr/lib/nagios/plugins/check_disk, -w, 10%]"
        let command = try reader.strings(node, of: "exec", what)
        guard let path = command.first, path.hasPrefix("/") else {
            throw reader.problem(at: node, "“exec” must be \(what)")
        }
        guard command.reduce(0, { $0 + $1.utf8.count }) <= Self.maximumCommandBytes else {
            throw reader.problem(
                at: node, "“exec” is longer than \(Self.maximumCommandBytes) bytes; write a script for it")
        }
        return command
    }

    /// The longest command; it must fit into the message that has it run.
    private static let maximumCommandBytes = 16 * 1024

    private func endpoint(_ node: YAMLNode) throws(Problem) -> SourceConfiguration {
        let what = "HOST:PORT, such as 127.0.0.1:6379 or [::1]:6379, with a port from 1 to 65535"
        let text = try reader.string(node, of: "tcp", what)
        guard let place = HostAndPort(text), let port = place.port else {
            throw reader.problem(at: node, "“tcp” must be \(what)")
        }
        return .tcp(host: place.host, port: port)
    }

    private mutating func http(_ node: YAMLNode) throws(Problem) -> HTTPConfiguration {
        var httpReader = HTTPReader(reader, name: name)
        defer { problems += httpReader.problems }
        return try httpReader.read(node)
    }
}
