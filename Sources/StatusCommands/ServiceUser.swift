// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A user of one of the installed services, so that `verify` sees files as the service does.
enum ServiceUser: String {
    /// The user of the daemon, which reads the configuration.
    case daemon = "statusd"
    /// The user of the executor, which runs plugins.
    case executor = "statusd-executor"

    /// Runs `body` with the rights of this user.
    ///
    /// If the caller is not root or the user does not exist, `body` runs with the rights of the caller.
    func perform<Result>(_ body: () -> Result) -> Result {
        guard let account else { return body() }
        var groups = [gid_t](repeating: 0, count: Int(max(0, getgroups(0, nil))))
        getgroups(Int32(groups.count), &groups)
        defer {
            seteuid(0)
            setegid(0)
            setgroups(groups.count, groups)
        }
        initgroups(rawValue, account.pw_gid)
        setegid(account.pw_gid)
        seteuid(account.pw_uid)
        return body()
    }

    /// The setting of the installed service that hides a file; nil if none does.
    ///
    /// - Parameter path: the file's path, with all links resolved.
    func obstacle(to path: String) -> String? {
        func isWithin(_ folder: String) -> Bool { (path + "/").hasPrefix(folder + "/") }
        let obstacle = obstacles.first { isWithin($0.folder) && !$0.visible.contains(where: isWithin) }
        return obstacle.map { "\($0.setting) of \(rawValue).service hides \($0.folder)" }
    }

    private var obstacles: [Obstacle] {
        let temporary = Obstacle.list("PrivateTmp=", ["/tmp", "/var/tmp"])
        return switch self {
        case .daemon:
            temporary + Obstacle.list("ProtectHome=", ["/home", "/root", "/run/user"])
                + [
                    Obstacle(folder: "/proc", setting: "ProtectProc= or ProcSubset="), Self.devices,
                ]
        case .executor:
            temporary
                + [
                    Obstacle(folder: "/dev/shm", setting: "TemporaryFileSystem="),
                    Obstacle(
                        folder: "/run", setting: "TemporaryFileSystem=",
                        visible: [
                            "/run/systemd/notify", "/run/systemd/journal", "/run/systemd/resolve", "/run/resolvconf",
                            "/run/nscd", "/run/utmp",
                        ]), Self.devices,
                ]
                + Obstacle.list("InaccessiblePaths=", ["/var/lib/statusd"])
        }
    }

    private static let devices = Obstacle(
        folder: "/dev", setting: "PrivateDevices=",
        visible: [
            "null", "zero", "full", "random", "urandom", "tty", "shm", "mqueue", "hugepages", "pts", "fd", "stdin",
            "stdout", "stderr",
        ].map { "/dev/\($0)" })

    /// A setting that hides a folder from a service.
    private struct Obstacle {
        var folder: String
        var setting: String
        /// The folders in it that are visible.
        var visible: [String] = []

        static func list(_ setting: String, _ folders: [String]) -> [Obstacle] {
            folders.map { Obstacle(folder: $0, setting: setting) }
        }
    }

    private var account: passwd? { geteuid() == 0 ? getpwnam(rawValue)?.pointee : nil }
}
