// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
import Glibc
public import Varlink

/// The standard addresses of the daemon.
public enum MonitorAddress {
    /// The environment variable with the address.
    public static let variable = "STATUSD_ADDRESS"
    /// The path of the socket that the system's service manager listens on.
    public static let system = "/run/statusd/\(MonitorInterface.name)"

    /// `STATUSD_ADDRESS`, or the user's socket if the user has run a daemon, or the system's.
    ///
    /// A user's daemon leaves its directory behind, so that requests do not reach the system's daemon during a restart.
    /// `RUNTIME_DIRECTORY` belongs to the service that runs the client, so it is not used: that service's user could
    /// impersonate the daemon.
    ///
    /// - Throws: ``IOError/Code/invalidAddress`` if the variable is not an address.
    public static func standard(
        environment: [String: String], isRoot: Bool, exists: (String) -> Bool = fileExists
    ) throws(IOError) -> VarlinkAddress {
        if let address = environment[variable], !address.isEmpty {
            do throws(IOError) {
                return try parse(address)
            } catch {
                throw IOError(error.code, "$\(variable): \(error.message)")
            }
        }
        guard !isRoot, let directory = environment["XDG_RUNTIME_DIR"], directory.hasPrefix("/") else {
            return .unix(.path(system))
        }
        let own = "\(directory)/statusd"
        return .unix(.path(exists(own) ? "\(own)/\(MonitorInterface.name)" : system))
    }

    /// Reads an address: `/path`, `unix:/path`, `unix:@name`, `exec:/path` or `bridge:/path`.
    ///
    /// - Throws: ``IOError/Code/invalidAddress``, ``IOError/Code/pathTooLong``.
    public static func parse(_ text: String) throws(IOError) -> VarlinkAddress {
        let scheme = text.prefix { $0 != ":" }
        return ["exec", "bridge"].contains(scheme)
            ? try VarlinkAddress(parsing: text) : .unix(try UnixAddress(parsing: text))
    }

    /// The socket beside the control socket at `path` that answers only while the daemon runs.
    ///
    /// The service manager does not listen on it, so connecting to it never starts a daemon.
    public static func live(_ path: String) -> String { path + ".live" }

    /// The socket to connect to for the daemon at `address`.
    ///
    /// - Parameter mayStart: whether connecting may start the daemon. The service manager's socket starts it even if an
    ///   administrator has stopped it.
    package static func socket(
        of address: UnixAddress, mayStart: Bool, exists: (String) -> Bool = fileExists
    ) -> UnixAddress {
        guard !mayStart, case .path(let path) = address, exists(live(path)) else { return address }
        return .path(live(path))
    }

    /// Whether a path exists.
    public static func fileExists(_ path: String) -> Bool { access(path, F_OK) == 0 }
}
