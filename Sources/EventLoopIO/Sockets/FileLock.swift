// SPDX-License-Identifier: Apache-2.0

import Glibc

/// An exclusive lock on a file that only its owner can open, held until this object is released.
///
/// flock(2) needs only an open descriptor, so a user who could read the file could hold the lock indefinitely.
package final class FileLock: Sendable {
    private let file: OwnedDescriptor

    /// Takes the lock without waiting, and creates its file if it is missing.
    ///
    /// - Throws: ``IOError/Code/addressInUse`` if another process holds it.
    package init(at path: String) throws(IOError) {
        // One process at a time; otherwise the second could remove the first one's file.
        guard let turn = try Self.lock(path + ".next") else { throw Self.isHeld(path) }
        defer { Self.unlock(turn) }
        if let locked = try Self.lock(path) { file = locked } else { file = try Self.replace(path) }
        let holder = "\(getpid())\n"
        ftruncate(file.rawValue, 0)
        pwrite(file.rawValue, holder, holder.utf8.count, 0)
    }

    deinit { Self.unlock(file) }

    /// Unlocks a file, even if a process that is being started still holds an inherited copy.
    private static func unlock(_ file: OwnedDescriptor) { flock(file.rawValue, LOCK_UN) }

    /// Locks the file; nil if another process holds the lock.
    private static func lock(_ path: String) throws(IOError) -> OwnedDescriptor? {
        let file = try openPrivately(path)
        if flock(file.rawValue, LOCK_EX | LOCK_NB) == 0 { return file }
        if errno == EWOULDBLOCK { return nil }
        throw IOError(errno: errno, "cannot lock \(path)")
    }

    /// Replaces and locks a file whose lock is held by a process that has ended.
    private static func replace(_ path: String) throws(IOError) -> OwnedDescriptor {
        guard holderHasEnded(try openPrivately(path)) else { throw isHeld(path) }
        unlink(path)
        guard let file = try lock(path) else { throw isHeld(path) }
        return file
    }

    private static func isHeld(_ path: String) -> IOError {
        IOError(.addressInUse, "another process holds \(path); stop that process first")
    }

    /// Whether the process that wrote its number into the file has ended.
    ///
    /// It still holds the lock while one of its threads waits in the kernel and cannot be killed.
    private static func holderHasEnded(_ file: OwnedDescriptor) -> Bool {
        guard case .process(let process) = content(of: file) else { return false }
        return ProcessStatus.isZombie(process)
    }

    private enum Content { case nothing, process(Int32), anything }

    private static func content(of file: OwnedDescriptor) -> Content {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = pread(file.rawValue, &bytes, bytes.count, 0)
        // The disk may have lost the last write.
        if count >= 0, bytes[..<count].allSatisfy({ $0 == 0 }) { return .nothing }
        guard count > 1, let process = Int32(String(decoding: bytes[..<(count - 1)], as: UTF8.self)) else {
            return .anything
        }
        return .process(process)
    }

    /// Opens the file, and replaces it if it belongs to another user or others may open it.
    ///
    /// A lock on such a file would be worthless. A file with other content than a lock's is left alone.
    private static func openPrivately(_ path: String) throws(IOError) -> OwnedDescriptor {
        for _ in 0..<2 {
            let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
            if descriptor >= 0 {
                let file = OwnedDescriptor(adopting: descriptor)
                var status = stat()
                let isRegular = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
                if isRegular, case .anything = content(of: file) {
                    throw IOError(.permissionDenied, "\(path) is not a lock file")
                }
                if isRegular, status.st_mode & 0o077 == 0, status.st_uid == geteuid() { return file }
            } else if errno == EACCES, hasContent(path) {
                throw IOError(.permissionDenied, "\(path) is not a lock file of this user")
            } else if errno != EACCES, errno != ELOOP, errno != ENXIO {
                throw IOError(errno: errno, "cannot open \(path)")
            }
            guard unlink(path) == 0 || errno == ENOENT else {
                throw IOError(errno: errno, "cannot replace \(path), which is not a private file of this user")
            }
        }
        throw IOError(
            .permissionDenied,
            "\(path) is not a private file of this user, and another process creates it again whenever it is removed")
    }

    private static func hasContent(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_size > 0
    }
}

/// Reads the state of other processes (proc_pid_stat(5)).
enum ProcessStatus {
    /// Whether a process is a zombie: it has ended, but was not reaped, or one of its threads waits in the kernel.
    ///
    /// Such a thread cannot be killed and keeps all descriptors open, so its locks stay held and its sockets accept
    /// connections.
    static func isZombie(_ process: Int32) -> Bool {
        // The state follows the name, which is in parentheses.
        guard let status = SystemFile.text(at: "/proc/\(process)/stat")?.utf8,
            let end = status.lastIndex(of: UInt8(ascii: ")"))
        else { return false }
        return status[end...].dropFirst(2).first == UInt8(ascii: "Z")
    }
}
