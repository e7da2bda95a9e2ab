// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusInterface
import StatusModel
import Systemd

/// Where the daemon's sockets are: `org.statusd.monitor`, and `notify/NAME` beside it; and the one that it runs plugins by.
struct DaemonDirectories: Sendable {
    let runtime: String
    /// Where the servers' notify sockets are, each with its server's name.
    let notify: String
    /// Where the executor listens that runs plugins, `$STATUSD_EXECUTOR`; nil if the daemon's own children run them.
    let executor: UnixAddress?

    /// `$RUNTIME_DIRECTORY` as systemd sets it, else `/run/statusd` for root and `$XDG_RUNTIME_DIR/statusd` for a user.
    init(environment: [String: String], isRoot: Bool) throws(DaemonError) {
        if let directory = environment["RUNTIME_DIRECTORY"]?.split(separator: ":").first {
            runtime = String(directory)
        } else if isRoot {
            runtime = "/run/statusd"
        } else if let directory = environment["XDG_RUNTIME_DIR"] {
            runtime = directory + "/statusd"
        } else {
            throw DaemonError(.system, "there is no directory for sockets; set RUNTIME_DIRECTORY or XDG_RUNTIME_DIR")
        }
        notify = runtime + "/notify"
        do throws(SystemdError) {
            executor = try environment["STATUSD_EXECUTOR"].map { text throws(SystemdError) in
                try UnixAddress(parsing: text)
            }
        } catch {
            throw DaemonError(.system, "STATUSD_EXECUTOR: \(error.message)")
        }
    }

    var controlSocket: String { "\(runtime)/\(MonitorInterface.name)" }

    /// Makes the directories that are missing, and takes possession of them: until the lock is released, no other daemon uses them.
    func claim() throws(DaemonError) -> FileLock {
        try make()
        let lock = try lock()
        removeDeadSockets()
        return lock
    }

    private func lock() throws(DaemonError) -> FileLock {
        do throws(SystemdError) {
            return try FileLock(at: runtime + "/lock")
        } catch {
            guard error.code == .addressInUse else {
                throw DaemonError(.system, "\(error.message); set RUNTIME_DIRECTORY to another directory")
            }
            throw DaemonError(
                .system,
                "another statusd uses the directory \(runtime); stop that one, or set RUNTIME_DIRECTORY to another")
        }
    }

    /// Removes the sockets that a killed daemon left behind: notify sockets, of which some may be of servers that nobody configured, and the one for
    /// clients that lost the daemon.
    ///
    /// They are not tried. If the process cannot end, they still take connections; and if nobody accepts those, anybody can fill the backlog.
    private func removeDeadSockets() {
        let live = MonitorAddress.live(controlSocket)
        for path in [live, MonitorAddress.privileged(live)] { unlink(path) }
        guard let directory = opendir(notify) else { return }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if entry.pointee.d_type == DT_SOCK, ServerName(name) != nil { unlink("\(notify)/\(name)") }
        }
    }

    /// Lets these processes, and no others, reach the notify sockets, each of which has its own list.
    func permit(_ senders: AccessPolicy) throws(SystemdError) { try senders.apply(toDirectory: notify) }

    /// Refuses root a directory that others may write to: by replacing what is in it at the right moment, they could have root change files elsewhere.
    private func refuseForeign(_ directory: String) throws(DaemonError) {
        guard geteuid() == 0 else { return }
        let advice = "set RUNTIME_DIRECTORY to a directory that only root may write to"
        var status = stat()
        guard lstat(directory, &status) == 0 else {
            throw DaemonError(.system, "cannot look at \(directory): \(String(cString: strerror(errno))); \(advice)")
        }
        if status.st_mode & S_IFMT != S_IFDIR { throw DaemonError(.system, "\(directory) is no directory; \(advice)") }
        if status.st_uid != 0 {
            throw DaemonError(
                .system,
                "the directory \(directory) belongs to the user with the number \(status.st_uid); start the service, run statusd as that user, or \(advice)"
            )
        }
        if status.st_mode & 0o022 != 0 {
            throw DaemonError(.system, "others than root may write to the directory \(directory); \(advice)")
        }
    }

    /// Refuses root a directory that others may replace by another one.
    private func refuseForeignParents() throws(DaemonError) {
        guard geteuid() == 0 else { return }
        let names = runtime.split(separator: "/")
        for count in names.indices {
            let path = (runtime.hasPrefix("/") ? "/" : "./") + names[..<count].joined(separator: "/")
            guard access(path, F_OK) == 0 else { throw cannotMake(runtime) }
            guard Self.isFixed(path) else {
                throw DaemonError(
                    .system,
                    "others than root may replace what is in the directory \(path); set RUNTIME_DIRECTORY to a directory elsewhere, such as /run/statusd"
                )
            }
        }
    }

    /// Whether nobody but root can replace what root has in a directory.
    private static func isFixed(_ path: String) -> Bool {
        var (link, directory) = (stat(), stat())
        guard lstat(path, &link) == 0, stat(path, &directory) == 0 else { return false }
        let isShared = directory.st_mode & 0o022 != 0 && directory.st_mode & S_ISVTX == 0
        return link.st_uid == 0 && directory.st_uid == 0 && !isShared
    }

    private func cannotMake(_ directory: String) -> DaemonError {
        let reason = String(cString: strerror(errno))
        return DaemonError(
            .system,
            "cannot make the directory \(directory): \(reason); set RUNTIME_DIRECTORY to one that can be written")
    }

    private func make() throws(DaemonError) {
        try refuseForeignParents()
        // Everyone may reach the control socket, whatever the umask is, but not list what is beside it (``AccessPolicy/apply(toDirectory:)``).
        for (directory, mode) in [(runtime, 0o711), (notify, 0o700)] as [(String, mode_t)] {
            guard mkdir(directory, mode) == 0 && chmod(directory, mode) == 0 || errno == EEXIST else {
                throw cannotMake(directory)
            }
            // Before anything is made or changed in it.
            try refuseForeign(directory)
        }
        guard access(runtime, W_OK | X_OK) == 0 else {
            let reason = String(cString: strerror(errno))
            throw DaemonError(
                .system,
                "cannot write to the directory \(runtime): \(reason); set RUNTIME_DIRECTORY to one that can be written")
        }
    }
}
