// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc

/// Checks the directories that a daemon running as root uses.
///
/// A user who can replace such a directory could make root change files elsewhere. A daemon of another user is not
/// checked, because it can change only that user's files.
struct TrustedDirectory {
    private let path: String
    private let advice: String

    /// - Parameters:
    ///   - path: the directory.
    ///   - variable: the option or environment variable that sets another directory.
    ///   - example: a directory that only root may write to, for the advice.
    init(_ path: String, variable: String, example: String) {
        self.path = path
        advice = "set \(variable) to a directory that only root may write to, such as \(example)"
    }

    /// Refuses a directory if other users can replace it through one of its parents.
    func checkParents() throws(DaemonError) {
        guard Self.isRoot else { return }
        let parent = path.lastIndex(of: "/").map { String(path[..<$0]) + "/" } ?? "./"
        guard let resolved = realpath(parent, nil) else {
            throw DaemonError(.system, "cannot access \(parent): \(String(cString: strerror(errno))); \(advice)")
        }
        defer { free(resolved) }
        // Other users must not be able to replace symbolic links or their targets.
        for path in Self.ancestry(of: parent) + Self.ancestry(of: String(cString: resolved)) where !Self.isFixed(path) {
            throw DaemonError(.system, "users other than root can replace files in the directory \(path); \(advice)")
        }
    }

    /// Refuses a directory that does not belong to root, or that other users may write to.
    func check() throws(DaemonError) {
        guard Self.isRoot else { return }
        var status = stat()
        guard lstat(path, &status) == 0 else {
            throw DaemonError(.system, "cannot access \(path): \(String(cString: strerror(errno))); \(advice)")
        }
        if status.st_mode & S_IFMT != S_IFDIR {
            throw DaemonError(.system, "\(path) is not a directory but a link or a file; \(advice)")
        }
        if status.st_uid != 0 {
            let owner = getpwuid(status.st_uid).map { String(cString: $0.pointee.pw_name) } ?? "\(status.st_uid)"
            throw DaemonError(
                .system,
                """
                the directory \(path) belongs to user \(owner); start the service, run statusd as that user, or \
                \(advice)
                """
            )
        }
        if status.st_mode & 0o022 != 0 {
            throw DaemonError(
                .system,
                "users other than root can write to the directory \(path); run “chmod go-w \(path)”, or \(advice)")
        }
    }

    /// A directory and all its parents, the outermost first.
    private static func ancestry(of path: String) -> [String] {
        let names = path.split(separator: "/")
        let start = path.hasPrefix("/") ? "/" : "./"
        return (0...names.count).map { start + names[..<$0].joined(separator: "/") }
    }

    /// Whether only root can replace root's files in a directory.
    private static func isFixed(_ path: String) -> Bool {
        var (link, directory) = (stat(), stat())
        guard lstat(path, &link) == 0, stat(path, &directory) == 0 else { return false }
        let isShared = directory.st_mode & 0o022 != 0 && directory.st_mode & S_ISVTX == 0
        return link.st_uid == 0 && directory.st_uid == 0 && !isShared
    }

    /// Whether the process is the machine's root, and not the root of a user namespace (user_namespaces(7)).
    private static var isRoot: Bool {
        guard geteuid() == 0, let map = SystemFile.text(at: "/proc/self/uid_map") else { return geteuid() == 0 }
        return map.split(whereSeparator: \.isWhitespace) == ["0", "0", "4294967295"]
    }
}
