// SPDX-License-Identifier: Apache-2.0

public import YAML

/// `notify: true`: a datagram socket for any program that speaks sd_notify(3).
public struct NotifySettings: SourceSettings {
    public static let key = "notify"
    public static let delivery = SourceDelivery.posted

    /// The names or IDs of users who may send, in addition to root, the daemon's user and the group statusd.
    public var users: [String]

    public init(users: [String] = []) { self.users = users }

    public var subjectParts: [String] { [] }
    public var requirements: [SourceRequirement] { users.map { .user($0) } }

    public static func read(_ node: YAMLNode, with reader: inout SettingsReader) throws(Problem) -> NotifySettings? {
        let nodes = reader.nodes
        guard let mapping = node.mapping else {
            guard let isOn = node.bool else {
                throw nodes.problem(
                    at: node, "“notify” must be true, false or a mapping such as “{ users: [postgres] }”")
            }
            return isOn ? NotifySettings() : nil
        }
        var settings = NotifySettings()
        for (key, value) in mapping {
            guard key.string == "users" else {
                throw nodes.problem(at: key, "unknown key “\(nodes.key(key))” in “notify”; the only key is “users”")
            }
            settings.users = try nodes.strings(value, of: "users", "a list of user names or user IDs")
        }
        return settings
    }
}
