// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import SourceKinds
import Synchronization

/// The folders of the host that this service's sandbox hides from it (systemd.exec(5)).
///
/// What is missing in them may exist on the host. The kernel's list of mounts shows which settings apply, also after
/// changes by `systemctl edit`.
public struct HiddenFolders: Sendable {
    private struct Mount {
        let folder: Substring
        /// The setting that made the mount in the place of the host's folder; nil if none did.
        let setting: String?
        /// Whether it hides only processes of other users.
        var hidesOnlyProcesses = false
    }

    private let mounts: [Mount]

    /// The folders that are hidden from this process.
    public static var current: HiddenFolders { last(of: SystemFile.text(at: "/proc/self/mountinfo") ?? "") }

    /// Returns the folders that a list of mounts hides; a worker that checks often reads the same list each time.
    ///
    /// - Parameter mounts: the text of /proc/self/mountinfo (proc(5)).
    public static func last(of mounts: String) -> HiddenFolders {
        cache.withLock { cache in
            if cache.mounts != mounts { cache = (mounts, HiddenFolders(mounts: mounts)) }
            return cache.folders
        }
    }

    private static let cache = Mutex((mounts: "", folders: HiddenFolders(mounts: "")))

    /// - Parameter mounts: the text of /proc/self/mountinfo (proc(5)).
    public init(mounts: String) {
        let mounts = mounts.split(separator: "\n").compactMap { Self.mount($0.split(separator: " ")) }
        // Without hidden folders, there is nothing to find.
        self.mounts = mounts.contains { $0.setting != nil } ? mounts : []
    }

    /// Why a path does not show what the host has there; nil if it does.
    ///
    /// - Parameter path: the path; its links are resolved.
    public func reason(for path: String) -> String? {
        if mounts.isEmpty { return nil }
        let target = SystemFile.target(of: path)
        let over = mounts.filter { $0.folder == "/" || (target + "/").hasPrefix($0.folder + "/") }
        // A later mount covers an earlier one.
        guard let length = over.map(\.folder.utf8.count).max(),
            let mount = over.last(where: { $0.folder.utf8.count == length })
        else { return nil }
        if mount.hidesOnlyProcesses, !ServiceSandbox.isProcess(target) { return nil }
        return mount.setting.map { "\($0) of the service hides \(mount.folder)" }
    }

    private static func mount(_ fields: [Substring]) -> Mount? {
        guard fields.count > 5, let end = fields.firstIndex(of: "-"), fields.count > end + 3 else { return nil }
        let (root, folder, options, type) = (fields[3].split(separator: "/"), fields[4], fields[5], fields[end + 1])
        // The service has its own queues, which are as private as the rest of its /dev.
        if type == "mqueue" { return nil }
        let proc = type == "proc" ? fields[end + 3].split(separator: ",") : []
        // A mount that is not the copy of one of the host (mount_namespaces(7)).
        let isOwn = !fields[6..<end].contains { $0.hasPrefix("master:") }
        let setting: String? =
            if root.contains(where: { $0.hasPrefix("systemd-private-") }) {
                "PrivateTmp="
            } else if root.contains("inaccessible") {
                ["/home", "/root", "/run/user"].contains(folder) ? "ProtectHome=" : "InaccessiblePaths="
            } else if type == "proc" {
                switch (proc.contains("subset=pid"), proc.contains { $0.hasPrefix("hidepid=") }) {
                case (true, _): "ProtectProc= or ProcSubset="
                case (false, true): "ProtectProc="
                case (false, false): nil
                }
            } else if type == "tmpfs", isOwn, options.split(separator: ",").contains("ro") {
                ["/dev": "PrivateDevices=", "/run": "TemporaryFileSystem="][folder]
            } else {
                nil
            }
        return Mount(folder: folder, setting: setting, hidesOnlyProcesses: setting == "ProtectProc=")
    }
}
