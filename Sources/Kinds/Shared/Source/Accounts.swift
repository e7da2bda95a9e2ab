// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
package import SourceKinds

/// The IDs of the users and groups that a configuration names, from the system's databases.
public struct Accounts: Sendable {
    /// Looks up the ID of a name in a database; nil if there is no such name.
    public typealias LookUp = (String) throws(IOError) -> UInt32?

    /// The group whose members may make changes, like root and the daemon's user.
    private static let groupName = "statusd"
    /// The user of statusd-mqtt.service.
    private static let reporterName = "statusd-mqtt"

    /// The failed lookups, with their reasons.
    public private(set) var failures: [String] = []
    /// The processes that may make changes: those of root, the daemon's user and the group `statusd`.
    public private(set) var access = AccessPolicy()
    /// The user who may report servers of other hosts; nil if none are followed, or there is no such user.
    public private(set) var reporter: UInt32?
    private var group: UInt32?
    private var users: [String: UInt32] = [:]
    /// Why the IDs of these users are not known.
    private var unansweredUsers: [String: IOError] = [:]

    /// Creates accounts with only root and the daemon's user.
    public init() {}

    /// Looks up the group `statusd` and the users that sources need; may block.
    ///
    /// If a database does not answer, the value from `before` is used, so that no user loses a permission.
    ///
    /// - Parameter followsHosts: whether servers of other hosts are followed.
    package init(
        of sources: some Sequence<AnySourceSettings>, followsHosts: Bool = false, before: Accounts,
        user: LookUp = UserDatabase.user, group: LookUp = UserDatabase.group(named:)
    ) {
        self.group = try? lookUp(Self.groupName, before: before.group, in: group)
        if let group = self.group { access = AccessPolicy(groups: [group]) }
        if followsHosts { reporter = try? lookUp(Self.reporterName, before: before.reporter, in: user) }
        for case .user(let name) in sources.lazy.flatMap(\.base.requirements) where users[name] == nil {
            do throws(IOError) {
                users[name] = try lookUp(name, before: before.users[name], in: user)
            } catch {
                unansweredUsers[name] = IOError(
                    error.code, "\(error.message); run “statusctl reload” when the lookup works again")
            }
        }
    }

    private mutating func lookUp(
        _ name: String, before: UInt32?, in database: LookUp
    ) throws(IOError) -> UInt32? {
        do throws(IOError) {
            return try database(name)
        } catch {
            failures.append(before == nil ? error.message : "\(error.message); the previous value is used")
            guard let before else { throw error }
            return before
        }
    }

    /// The processes that may send to at least one notify socket.
    public var senders: AccessPolicy { access.allowing(users: users.values.sorted()) }

    /// Returns the ID of a user that the configuration names; nil if there is no such user.
    ///
    /// - Throws: ``IOError`` if the lookup failed.
    public func user(_ name: String) throws(IOError) -> UInt32? {
        if let failure = unansweredUsers[name] { throw failure }
        return users[name]
    }
}
