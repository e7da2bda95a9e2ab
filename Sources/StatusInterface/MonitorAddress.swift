// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
import Glibc

/// Where a client finds the daemon when nobody says.
public enum MonitorAddress {
    /// The environment's variable that says it.
    public static let variable = "STATUSD_ADDRESS"
    /// The path of the socket that the system's service manager listens on.
    public static let system = "/run/statusd/\(MonitorInterface.name)"

    /// `STATUSD_ADDRESS`, else the user's own socket if the user has run a daemon; else the system's.
    ///
    /// A user's daemon leaves its directory: while it is restarted, what is meant for it must not reach the system's.
    /// `RUNTIME_DIRECTORY` is that of the service that runs the client, whose user could answer there as it likes.
    ///
    /// - Throws: ``IOError/Code/invalidAddress`` where the variable holds none.
    public static func standard(
        environment: [String: String], isRoot: Bool, exists: (String) -> Bool = fileExists
    ) throws(IOError) -> UnixAddress {
        if let address = environment[variable], !address.isEmpty {
            do throws(IOError) {
                return try UnixAddress(parsing: address)
            } catch {
                throw IOError(error.code, "$\(variable): \(error.message)")
            }
        }
        guard !isRoot, let directory = environment["XDG_RUNTIME_DIR"] else { return .path(system) }
        let own = "\(directory)/statusd"
        return .path(exists(own) ? "\(own)/\(MonitorInterface.name)" : system)
    }

    /// The socket beside the control socket at `path` that answers only while the daemon runs.
    ///
    /// The service manager does not listen on it, so connecting to it never starts a daemon.
    public static func live(_ path: String) -> String { path + ".live" }

    /// The socket beside the one at `path` that only root and the group statusd can connect to, so that clients of other users cannot keep these waiting.
    public static func privileged(_ path: String) -> String { path + ".privileged" }

    /// Where to look for the daemon at `address`: the first place that accepts a connection is the right one.
    ///
    /// - Parameter mayStart: whether connecting may start the daemon. The service manager's sockets do, also if an administrator has stopped it. The live
    ///   socket stays when such a daemon ends.
    package static func places(
        of address: UnixAddress, mayStart: Bool, exists: (String) -> Bool = fileExists
    ) -> [UnixAddress] {
        guard case .path(let path) = address else { return [address] }
        if !mayStart, !exists(live(path)) { return [address] }
        let place = mayStart ? path : live(path)
        // Elsewhere, whoever can write to the directory could listen there.
        return (path == system ? [.path(privileged(place))] : []) + [.path(place)]
    }

    /// Whether there is anything at a path.
    public static func fileExists(_ path: String) -> Bool { access(path, F_OK) == 0 }
}
