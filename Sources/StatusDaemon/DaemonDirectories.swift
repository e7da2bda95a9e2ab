// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import StatusInterface
import StatusModel
import StatusSources

/// The paths of the daemon's sockets: `org.statusd.monitor`, `notify/NAME` next to it, and the executor's socket.
struct DaemonDirectories: Sendable {
    let runtime: String
    /// The directory of the notify sockets, each with its server's name.
    let notify: String
    /// The address of the executor, which runs plugins (`$STATUSD_EXECUTOR`); nil if children of the daemon run them.
    let executor: UnixAddress?
    /// The address of the executor that runs receivers of alerts (`$STATUSD_ALERTS`); nil if children of the daemon do.
    let alerts: UnixAddress?

    /// Uses `$RUNTIME_DIRECTORY`, which systemd sets, or else `/run/statusd` for root and `$XDG_RUNTIME_DIR/statusd`
    /// for a user.
    init(environment: [String: String], isRoot: Bool) throws(DaemonError) {
        var runtime: String
        if let directory = environment["RUNTIME_DIRECTORY"]?.split(separator: ":").first {
            runtime = String(directory)
        } else if isRoot {
            runtime = "/run/statusd"
        } else if let directory = environment["XDG_RUNTIME_DIR"], directory.hasPrefix("/") {
            runtime = directory + "/statusd"
        } else {
            throw DaemonError(.system, "no directory for sockets; set RUNTIME_DIRECTORY or XDG_RUNTIME_DIR")
        }
        // With a trailing slash, the checks would follow a symbolic link.
        while runtime.count > 1, runtime.hasSuffix("/") { runtime.removeLast() }
        self.runtime = runtime
        notify = runtime + "/notify"
        executor = try Self.address("STATUSD_EXECUTOR", in: environment)
        alerts = try Self.address("STATUSD_ALERTS", in: environment)
    }

    private static func address(
        _ variable: String, in environment: [String: String]
    ) throws(DaemonError) -> UnixAddress? {
        do throws(IOError) {
            return try environment[variable].map { text throws(IOError) in try UnixAddress(parsing: text) }
        } catch {
            throw DaemonError(.system, "\(variable): \(error.message)")
        }
    }

    var controlSocket: String { "\(runtime)/\(MonitorInterface.name)" }

    /// Creates missing directories and locks them, so that no other daemon uses them until the lock is released.
    func claim() throws(DaemonError) -> FileLock {
        try trusted(runtime).checkParents()
        // Whatever the umask is, every user may reach the control socket, but not list the directory
        // (``AccessPolicy/apply(toDirectory:)``).
        try make(runtime, 0o711)
        try checkAccess()
        // A daemon that runs as root refuses an unsafe directory before it changes anything.
        var status = stat()
        if lstat(notify, &status) == 0 { try trusted(notify).check() }
        let lock = try lock()
        try setAsideForeignSockets()
        try make(notify, 0o700)
        removeDeadSockets()
        return lock
    }

    private func lock() throws(DaemonError) -> FileLock {
        do throws(IOError) {
            return try FileLock(at: runtime + "/lock")
        } catch {
            guard error.code == .addressInUse else {
                throw DaemonError(.system, "\(error.message); set RUNTIME_DIRECTORY to another directory")
            }
            throw DaemonError(
                .system,
                """
                another statusd uses the directory \(runtime); stop it (“fuser \(runtime)/lock” shows its process), or \
                set RUNTIME_DIRECTORY to another directory
                """
            )
        }
    }

    /// Removes the sockets that a killed daemon left: the notify sockets of all servers, and the socket for clients
    /// that lost the daemon.
    ///
    /// Connecting would not show that a socket is dead: if the old process cannot end, its sockets still accept
    /// connections, and any user can fill their backlog.
    private func removeDeadSockets() {
        unlink(MonitorAddress.live(controlSocket))
        guard let directory = opendir(notify) else { return }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            // A tilde marks a new socket that had not yet replaced the old one
            // (``UnixSocket/replaceDatagram(at:for:)``).
            let server = name.hasSuffix("~") ? String(name.dropLast()) : name
            if entry.pointee.d_type == DT_SOCK, ServerName(server) != nil { unlink("\(notify)/\(name)") }
        }
    }

    /// Creates the directory of the notify sockets again if it was removed; returns whether it was.
    func restoreNotify() -> Bool { mkdir(notify, 0o700) == 0 }

    /// Lets only these processes reach the notify sockets; each socket has an access list of its own, too.
    func permit(_ senders: AccessPolicy) throws(IOError) { try senders.apply(toDirectory: notify) }

    /// Renames `notify` if it is not a directory of this user, because its owner could replace the sockets in it.
    ///
    /// An earlier daemon that was compromised may have left it, and systemd keeps it over restarts. A daemon that runs
    /// as root refuses it instead (``TrustedDirectory``).
    private func setAsideForeignSockets() throws(DaemonError) {
        var status = stat()
        guard geteuid() != 0, lstat(notify, &status) == 0,
            status.st_uid != geteuid() || status.st_mode & S_IFMT != S_IFDIR
        else { return }
        guard rename(notify, "\(notify).foreign.\(getpid())") == 0 else {
            let reason = String(cString: strerror(errno))
            throw DaemonError(
                .system,
                "\(notify) belongs to another user and cannot be renamed: \(reason); remove it")
        }
    }

    /// Creates a directory if it is missing, and checks it, before anything is created or changed in it.
    private func make(_ directory: String, _ mode: mode_t) throws(DaemonError) {
        guard mkdir(directory, mode) == 0 && chmod(directory, mode) == 0 || errno == EEXIST else {
            let reason = String(cString: strerror(errno))
            throw DaemonError(
                .system,
                "cannot create the directory \(directory): \(reason); set RUNTIME_DIRECTORY to a writable directory"
            )
        }
        try trusted(directory).check()
    }

    private func checkAccess() throws(DaemonError) {
        guard access(runtime, W_OK | X_OK) != 0 else { return }
        let reason = String(cString: strerror(errno))
        throw DaemonError(
            .system,
            "cannot write to the directory \(runtime): \(reason); set RUNTIME_DIRECTORY to a writable directory")
    }

    private func trusted(_ path: String) -> TrustedDirectory {
        TrustedDirectory(path, variable: "RUNTIME_DIRECTORY", example: "/run/statusd-root")
    }
}
