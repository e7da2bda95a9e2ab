// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc

/// An exclusive lock on a file that only its owner can open; held until the last reference to it goes.
///
/// flock(2) needs no more than an open descriptor. A directory or a file that others may read could be locked by any of them, for ever.
public final class FileLock: Sendable {
    private let file: OwnedDescriptor

    /// Takes the lock without waiting, and creates its file if there is none.
    ///
    /// - Throws: ``SystemdError/Code/addressInUse`` if another process holds it.
    public init(at path: String) throws(SystemdError) {
        var file = try Self.openPrivately(path)
        if !Self.lock(file), Self.holderHasEnded(file) {
            unlink(path)
            file = try Self.openPrivately(path)
        }
        guard Self.lock(file) else {
            if errno == EWOULDBLOCK {
                throw SystemdError(
                    .addressInUse, "another process holds \(path); stop that process first", errno: errno)
            }
            throw SystemdError(errno: errno, "cannot lock \(path)")
        }
        self.file = file
        let holder = "\(getpid())\n"
        ftruncate(file.rawValue, 0)
        pwrite(file.rawValue, holder, holder.utf8.count, 0)
    }

    private static func lock(_ file: OwnedDescriptor) -> Bool { flock(file.rawValue, LOCK_EX | LOCK_NB) == 0 }

    /// Whether the process that wrote its number into the file does nothing any more.
    ///
    /// It still holds the lock if one of its threads waits in the kernel and cannot be killed.
    private static func holderHasEnded(_ file: OwnedDescriptor) -> Bool {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = pread(file.rawValue, &bytes, bytes.count, 0)
        guard count > 1, let process = Int32(String(decoding: bytes[..<(count - 1)], as: UTF8.self)) else {
            return false
        }
        return isZombie(process)
    }

    /// Whether a process has ended, but for what waits in the kernel or for its parent (proc_pid_stat(5)).
    private static func isZombie(_ process: Int32) -> Bool {
        let descriptor = open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = read(descriptor, &bytes, bytes.count)
        // The state follows the name, which stands in brackets.
        guard count > 0, let end = bytes[..<count].lastIndex(of: UInt8(ascii: ")")), end + 2 < count else {
            return false
        }
        return bytes[end + 2] == UInt8(ascii: "Z")
    }

    /// Opens the file.
    ///
    /// One that belongs to somebody else, or that others may open, is replaced: a lock on it would mean nothing.
    private static func openPrivately(_ path: String) throws(SystemdError) -> OwnedDescriptor {
        for _ in 0..<2 {
            let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
            if descriptor >= 0 {
                let file = OwnedDescriptor(adopting: descriptor)
                if isPrivate(descriptor) { return file }
            } else if errno != EACCES, errno != ELOOP, errno != ENXIO {
                throw SystemdError(errno: errno, "cannot open \(path)")
            }
            guard unlink(path) == 0 || errno == ENOENT else {
                throw SystemdError(errno: errno, "cannot replace \(path), which is not a private file of this user")
            }
        }
        throw SystemdError(
            .permissionDenied, "\(path) is not a private file of this user, and comes back when it is removed")
    }

    private static func isPrivate(_ descriptor: Int32) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_mode & 0o077 == 0
            && status.st_uid == geteuid()
    }
}
