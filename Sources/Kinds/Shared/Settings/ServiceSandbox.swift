// SPDX-License-Identifier: Apache-2.0

/// The folders of the host that the installed services do not see.
///
/// They follow from the unit files in `packaging/systemd`, with which a test compares them.
public struct ServiceSandbox: Sendable {
    /// A setting of a service that hides a folder from it.
    package struct Obstacle: Sendable {
        package let folder: String
        package let setting: String
        /// The folders and files in it that are visible.
        package var visible: [String] = []
        /// Whether only the processes in it are hidden (``ServiceSandbox/isProcess(_:)``).
        package var hidesOnlyProcesses = false

        static func list(_ setting: String, _ folders: [String]) -> [Obstacle] {
            folders.map { Obstacle(folder: $0, setting: setting) }
        }
    }

    /// The name of the service.
    public let service: String
    package let obstacles: [Obstacle]

    /// The daemon's.
    public static let daemon = ServiceSandbox(
        service: "statusd.service",
        obstacles: temporary + Obstacle.list("ProtectHome=", ["/home", "/root", "/run/user"]) + [
            Obstacle(folder: "/proc", setting: "ProtectProc=", hidesOnlyProcesses: true),
            devices(with: ["/dev/shm"]),
        ])

    /// The plugins'.
    public static let executor = ServiceSandbox(
        service: "statusd-executor.service",
        obstacles: temporary + Obstacle.list("TemporaryFileSystem=", ["/dev/shm"])
            + Obstacle.list("InaccessiblePaths=", ["/var/lib/statusd"]) + [
                Obstacle(
                    folder: "/run", setting: "TemporaryFileSystem=",
                    visible: [
                        "/run/systemd/notify", "/run/systemd/journal", "/run/systemd/resolve", "/run/resolvconf",
                        "/run/nscd", "/run/utmp",
                    ]), devices(with: []),
            ])

    /// That of receivers of alerts.
    public static let alerts = ServiceSandbox(
        service: "statusd-alerts.service",
        obstacles: temporary + Obstacle.list("TemporaryFileSystem=", ["/dev/shm"])
            + Obstacle.list(
                "InaccessiblePaths=",
                [
                    "/etc/statusd", "/var/lib/statusd", "/run/statusd", "/run/statusd-executor", "/run/statusd-alerts",
                ]))

    private static let temporary = Obstacle.list("PrivateTmp=", ["/tmp", "/var/tmp"])

    /// - Parameter folders: the visible folders in addition to those that each service has.
    private static func devices(with folders: [String]) -> Obstacle {
        let devices = ["full", "log", "null", "ptmx", "random", "tty", "urandom", "zero"]
        let links = ["fd", "stdin", "stdout", "stderr", "hugepages", "pts"]
        return Obstacle(
            folder: "/dev", setting: "PrivateDevices=", visible: (devices + links).map { "/dev/\($0)" } + folders)
    }

    /// The setting that hides a file; nil if none does.
    ///
    /// - Parameter path: the file's path, with all links resolved.
    public func obstacle(to path: String) -> String? {
        func isWithin(_ folder: String) -> Bool { (path + "/").hasPrefix(folder + "/") }
        let obstacle = obstacles.first {
            isWithin($0.folder) && !$0.visible.contains(where: isWithin)
                && (!$0.hidesOnlyProcesses || Self.isProcess(path))
        }
        return obstacle.map { "\($0.setting) of \(service) hides \($0.folder)" }
    }

    /// Whether a path in /proc leads to processes, or to all entries there: /proc, /proc/1/stat, /proc/*/stat.
    package static func isProcess(_ path: String) -> Bool {
        let parts = path.split(separator: "/")
        guard parts.count > 1, let first = parts[1].utf8.first else { return true }
        return first >= 0x30 && first <= 0x39 || "*?[".utf8.contains(first)
    }
}
