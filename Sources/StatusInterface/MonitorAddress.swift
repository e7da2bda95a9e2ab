// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
import Glibc
public import Varlink

/// The standard addresses of the daemon.
public enum MonitorAddress {
    /// The environment variable that contains the address.
    public static let variable = "STATUSD_ADDRESS"
    /// The path of the system's socket, on which systemd listens.
    public static let system = "/run/statusd/\(MonitorInterface.name)"

    /// Returns the default address.
    ///
    /// This is `STATUSD_ADDRESS`, or the user's socket if the user has ever run a daemon, or the system's socket. A
    /// user's daemon leaves its directory behind, so that requests do not reach the system's daemon during a restart.
    /// `RUNTIME_DIRECTORY` is not used: it belongs to the service that runs the client, whose user could impersonate
    /// the daemon.
    ///
    /// - Throws: ``IOError/Code/invalidAddress`` if the variable is invalid.
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

    /// Returns the path of the live socket, next to the control socket at `path`.
    ///
    /// It answers only while the daemon runs: systemd does not listen on it, so connecting to it never starts a daemon.
    public static func live(_ path: String) -> String { path + ".live" }

    /// Returns the socket to connect to for the daemon at `address`.
    ///
    /// - Parameter mayStart: whether connecting may start the daemon. systemd's socket starts it even if an
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
