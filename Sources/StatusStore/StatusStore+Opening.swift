// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import SQLite
import StatusMonitor

/// Opening the file, whatever is in its place.
extension StatusStore {
    struct Opened {
        let file: StoreFile
        let contents: StoreContents
        let setAside: String?
    }

    /// Opens and reads the file; if it cannot be used, sets it aside and creates another one.
    static func open(_ path: String, boot: String) throws -> Opened {
        do {
            let (file, contents) = try read(path, boot)
            return Opened(file: file, contents: contents, setAside: nil)
        } catch {
            guard let (suffix, reason) = problem(error, with: path) else { throw error }
            let setAside = setAside(path, suffix, reason)
            let (file, contents) = try read(path, boot)
            return Opened(file: file, contents: contents, setAside: setAside)
        }
    }

    private static func read(_ path: String, _ boot: String) throws -> (StoreFile, StoreContents) {
        // Opening another kind of file may block.
        let reason =
            files(at: path).lazy.compactMap(strangeness).first ?? otherOwner(of: path) ?? otherOwner(of: path + "-wal")
        if let reason { throw StoreProblem.unusable(reason) }
        create(path)
        let file = try StoreFile(at: path)
        try file.check()
        return (file, try file.load(boot: boot))
    }

    /// Creates the file if there is none, so that only its owner can read it; SQLite gives those beside it the same mode.
    private static func create(_ path: String) {
        let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        // The existing file is not opened: closing it would give up the locks of SQLite's connections.
        if descriptor >= 0 { Glibc.close(descriptor) }
        // It has the mode that the file had once, and nothing that must be kept.
        let index = path + "-shm"
        if permission(missingFor: index) != nil || otherOwner(of: index) != nil { unlink(index) }
        for file in files(at: path) { close(file) }
    }

    /// Keeps other users from a file: who can truncate a file that is mapped ends this process.
    private static func close(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & 0o027 != 0 else { return }
        chmod(path, status.st_mode & 0o7750)
    }

    /// How to call a file that cannot be used, and why it cannot; nil if the problem may not be the file's.
    private static func problem(_ error: any Error, with path: String) -> (suffix: String, reason: String)? {
        switch error {
        case StoreProblem.newer: ("newer", "\(StoreFailure(error, at: path))")
        case StoreProblem.foreign: ("foreign", "\(StoreFailure(error, at: path))")
        case let error as SQLiteError where error.code == .damaged || error.code == .unfit:
            ("damaged", error.description)
        case StoreProblem.unusable(let reason): ("unreadable", reason)
        case let error as SQLiteError where error.code == .inaccessible:
            unusability(at: path).map { ("unreadable", $0) }
        default: nil
        }
    }

    /// The file, its log, and the index of that.
    private static func files(at path: String) -> [String] { ["", "-wal", "-shm"].map { path + $0 } }

    /// Why the file cannot be used, if what it is, or whose it is, is the reason.
    ///
    /// Otherwise the disk, or a limit, is the reason, which may pass.
    static func unusability(at path: String) -> String? {
        files(at: path).lazy.compactMap { strangeness(of: $0) ?? permission(missingFor: $0) }.first
    }

    private static func name(of path: String) -> Substring { path.split(separator: "/").last ?? "" }

    private static func strangeness(of path: String) -> String? {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG else { return nil }
        return path.hasSuffix(".sqlite") ? "it is not a regular file" : "\(name(of: path)) is not a regular file"
    }

    /// Whose file it is, if it is not the daemon's, which could be truncated while it is mapped.
    private static func otherOwner(of path: String) -> String? {
        var status = stat()
        // Root's daemon may use files of others, as on a file system that maps root to another user.
        guard geteuid() != 0, lstat(path, &status) == 0, status.st_uid != geteuid() else { return nil }
        // Some file systems show all files as another user's (NFS).
        var folder = stat()
        if stat(String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]), &folder) == 0,
            folder.st_uid == status.st_uid
        {
            return nil
        }
        return "\(name(of: path)) belongs to user \(status.st_uid), not to statusd's user (\(geteuid()))"
    }

    private static func permission(missingFor path: String) -> String? {
        var status = stat()
        guard lstat(path, &status) == 0, access(path, R_OK | W_OK) != 0, errno == EACCES else { return nil }
        let mode = String(status.st_mode & 0o7777, radix: 8)
        return
            "statusd's user (\(geteuid())) may not read and write \(name(of: path)); it belongs to user \(status.st_uid) and has mode \(mode)"
    }

    /// Opens the file that is there now, or a new one, without what another run has left in it; returns what was set aside.
    func openAnew(_ use: inout Use) throws -> String? {
        var unread: String?
        if use.isUnread {
            // Until the disk works, the file stays, for the case that the next start can read it.
            _ = try Self.open(path, boot: boot)
            let setAside = Self.setAside(path, "unread", "it could not be read when statusd started")
            guard Self.size(of: path) == nil else { throw StoreFailure(reason: setAside, needsEverything: false) }
            unread = setAside
            use.isUnread = false
        }
        let opened = try Self.open(path, boot: boot)
        opened.file.replacesState = true
        try opened.file.begin(after: opened.contents, at: use.beginning)
        use.file = opened.file
        return unread ?? opened.setAside
    }

    /// A name for a file that is set aside.
    ///
    /// The first two of a kind stay, because they may have what is missed; later ones replace the third, so the disk is not filled.
    private static func unusedName(_ name: String) -> String {
        let names = [name, name + ".2", name + ".3"]
        var status = stat()
        return names.first { lstat($0, &status) != 0 } ?? names[names.count - 1]
    }

    /// Renames a file that cannot be used, with its log; returns what was done, as one phrase.
    static func setAside(_ path: String, _ suffix: String, _ reason: String) -> String {
        let target = unusedName("\(path).\(suffix)")
        if unlink(path + "-shm") != 0, errno == EISDIR { rename(path + "-shm", target + "-shm") }
        unlink(target + "-wal")
        guard rename(path, target) == 0 else {
            return "\(reason); it cannot be renamed: \(String(cString: strerror(errno)))"
        }
        guard rename(path + "-wal", target + "-wal") == 0 || errno == ENOENT else {
            let problem = String(cString: strerror(errno))
            return "\(reason); it is now \(target), without its log, which cannot be renamed: \(problem)"
        }
        return "\(reason); it is now \(target)"
    }
}
