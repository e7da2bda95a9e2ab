// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc

/// Writes a new file, so that it is complete or not there.
enum InitialFile {
    /// Writes the file and, if they are missing, the directories above it.
    ///
    /// - Throws: what the system says, with the path.
    static func write(_ text: String, to path: String) throws(IOError) {
        try makeDirectories(above: path)
        let temporary = path + ".new"
        // An earlier run may have left a file, and opening a pipe without a reader would block.
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw IOError(errno: errno, "cannot write \(path)") }
        let file = OwnedDescriptor(adopting: descriptor)
        // The daemon reads it as another user, whatever the umask.
        fchmod(file.rawValue, 0o644)
        let failure = StandardOutput.write(text, to: file.rawValue)
        guard failure == 0, fsync(file.rawValue) == 0, rename(temporary, path) == 0 else {
            let number = failure == 0 ? errno : failure
            unlink(temporary)
            throw IOError(errno: number, "cannot write \(path)")
        }
    }

    /// Gives a new directory its mode: the system's configuration is only for root and the daemon's group, as
    /// installed.
    private static func give(_ directory: String) {
        let isSystem = directory == "/etc/statusd"
        chmod(directory, isSystem ? 0o750 : 0o755)
        if isSystem, let group = getgrnam(ServiceUser.daemon.rawValue) { chown(directory, 0, group.pointee.gr_gid) }
    }

    private static func makeDirectories(above path: String) throws(IOError) {
        var directory = ""
        for part in path.split(separator: "/").dropLast() {
            directory += "/\(part)"
            if mkdir(directory, 0o755) == 0 {
                give(directory)
                continue
            }
            let failure = errno
            if failure == EEXIST || access(directory, F_OK) == 0 { continue }
            throw IOError(errno: failure, "cannot create \(directory)")
        }
    }
}
