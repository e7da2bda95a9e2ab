// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
public import SourceKinds

/// The users and groups that a configuration is about, as the system's databases know them.
public struct Accounts: Sendable {
    /// Asks a database for the number of a name; nil if it has no such name.
    public typealias LookUp = (String) throws(IOError) -> UInt32?

    /// Those who may change things, beside root and the daemon's own user.
    private static let groupName = "statusd"

    /// Which names could not be looked up.
    public private(set) var failures: [String] = []
    private var group: UInt32?
    private var users: [String: UInt32] = [:]

    /// Nobody but root and the daemon's own user.
    public init() {}

    /// Looks up the group `statusd` and whoever the sources need; may wait.
    ///
    /// What cannot be known now is as it was `before`: nobody loses a right because a database does not answer.
    public init(
        of sources: some Sequence<AnySourceSettings>, before: Accounts, user: LookUp = UserDatabase.user,
        group: LookUp = UserDatabase.group(named:)
    ) {
        self.group = lookUp(Self.groupName, before: before.group, in: group)
        for case .user(let name) in sources.lazy.flatMap(\.base.requirements) where users[name] == nil {
            users[name] = lookUp(name, before: before.users[name], in: user)
        }
    }

    private mutating func lookUp(_ name: String, before: UInt32?, in database: LookUp) -> UInt32? {
        do throws(IOError) {
            return try database(name)
        } catch {
            failures.append(before == nil ? error.message : "\(error.message); the previous value is used")
            return before
        }
    }

    /// Root, the daemon's own user and the group `statusd`: those who may change things.
    public var access: AccessPolicy { AccessPolicy(groups: group.map { [$0] } ?? []) }

    /// Those who may send to any notify socket.
    public var senders: AccessPolicy { access.allowing(users: users.values.sorted()) }

    /// The number of a user whom the configuration names; nil if there is no such user.
    public func user(_ name: String) -> UInt32? { users[name] }
}
