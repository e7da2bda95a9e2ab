// SPDX-License-Identifier: Apache-2.0

import Glibc

/// An exclusive lock on a file that only its owner can open, held until this object is released.
///
/// An open descriptor is enough for flock(2). If others could read the file, or it were a directory, any of them could
/// hold the lock for ever.
public final class FileLock: Sendable {
    private let file: OwnedDescriptor

    /// Takes the lock without waiting, and creates its file if it is missing.
    ///
    /// - Throws: ``IOError/Code/addressInUse`` if another process holds it.
    public init(at path: String) throws(IOError) {
        // One process at a time, or the second could remove the file of the first.
        guard let turn = try Self.lock(path + ".next") else { throw Self.isHeld(path) }
        defer { Self.unlock(turn) }
        if let locked = try Self.lock(path) { file = locked } else { file = try Self.replace(path) }
        let holder = "\(getpid())\n"
        ftruncate(file.rawValue, 0)
        pwrite(file.rawValue, holder, holder.utf8.count, 0)
    }

    deinit { Self.unlock(file) }

    /// Unlocks a file, even if a process that is being started has inherited it and not closed it yet.
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
    /// It still holds the lock if one of its threads waits in the kernel and cannot be killed.
    private static func holderHasEnded(_ file: OwnedDescriptor) -> Bool {
        guard case .process(let process) = content(of: file) else { return false }
        return ProcessStatus.isZombie(process)
    }

    private enum Content { case nothing, process(Int32), anything }

    private static func content(of file: OwnedDescriptor) -> Content {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = pread(file.rawValue, &bytes, bytes.count, 0)
        // A disk may have lost what was written last.
        if count >= 0, bytes[..<count].allSatisfy({ $0 == 0 }) { return .nothing }
        guard count > 1, let process = Int32(String(decoding: bytes[..<(count - 1)], as: UTF8.self)) else {
            return .anything
        }
        return .process(process)
    }

    /// Opens the file, and replaces it if it belongs to another user or others may open it.
    ///
    /// A lock on such a file would mean nothing. A file with content that is not a lock's is left alone.
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
