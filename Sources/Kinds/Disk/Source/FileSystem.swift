// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import SourceKinds
import StatusModel
import StatusWorkers

/// A file system, as df(1) sees it.
struct FileSystem: Equatable {
    /// The sizes in bytes: of all of it, of what is used, and of what is free for ordinary users.
    var (size, used, free) = (0.0, 0.0, 0.0)
    /// The number of inodes, 0 if the file system creates them as needed; and of those that are used.
    var (inodes, usedInodes) = (0.0, 0.0)
    /// Whether it takes no writes.
    var isReadOnly = false
    /// Whether it takes no writes on purpose.
    var isMeantReadOnly = false

    /// The percentage of the space that ordinary users cannot use any more.
    var usedPercentage: Double { Self.percentage(used, of: used + free) }
    var usedInodesPercentage: Double { Self.percentage(usedInodes, of: inodes) }

    private static func percentage(_ part: Double, of whole: Double) -> Double {
        whole > 0 ? min(100, part * 100 / whole) : 0
    }
}

extension FileSystem {
    /// - Parameter numbers: the kernel's numbers, which a hostile file system chooses.
    init(_ numbers: statvfs) {
        let unit = Double(numbers.f_frsize > 0 ? numbers.f_frsize : numbers.f_bsize)
        size = Double(numbers.f_blocks) * unit
        used = max(0, size - Double(numbers.f_bfree) * unit)
        // Some file systems say by a negative number that ordinary users have no space left.
        free = numbers.f_bavail > UInt(Int.max) ? 0 : Double(numbers.f_bavail) * unit
        inodes = Double(numbers.f_files)
        usedInodes = max(0, inodes - Double(numbers.f_ffree))
    }

    /// The types that nobody can write to.
    private static let readOnlyTypes: Set = ["iso9660", "squashfs", "erofs", "cramfs", "romfs"]
    /// The options of a file system that takes no writes: `emergency_ro` and `shutdown` are those of ext4 after an
    /// error, which leaves `rw` as it is.
    private static let readOnlyOptions: Set<Substring> = ["ro", "emergency_ro", "shutdown"]

    /// Adds whether the file system takes writes.
    ///
    /// The flag of statvfs(3) does not tell that, because the service's sandbox is mounted for reading only.
    ///
    /// - Parameter fstab: the text of fstab(5).
    mutating func note(_ mount: MountTable.Mount, fstab: @autoclosure () -> String) {
        isReadOnly = !Self.readOnlyOptions.isDisjoint(with: mount.options)
        isMeantReadOnly =
            Self.readOnlyTypes.contains(mount.type)
            || mount.options.contains("ro") && MountTable.isReadOnly(mount.folder, in: fstab())
    }
}

/// What is at the path of a disk.
enum DiskFinding: Equatable {
    case found(FileSystem)
    /// Nothing is mounted there, although something must be.
    case notMounted
    /// There is no such path.
    case missing
    /// The disk does not answer, or answers with this error.
    case broken(String)

    /// The errors of a disk or of its server; other errors are this process's own.
    private static let errors: Set = [
        EIO, ENXIO, ENODEV, ESTALE, ENOTCONN, ESHUTDOWN, EHOSTDOWN, EHOSTUNREACH, ENETUNREACH, ETIMEDOUT,
        ECONNREFUSED, ECONNRESET, ECONNABORTED, EUCLEAN, EBADMSG, EREMOTEIO,
    ]

    /// Finds the file system at a path; may block on a disk.
    static func find(_ settings: DiskSettings) throws(CheckFailure) -> DiskFinding {
        let path = settings.path
        // Before the mounts are read, because this may mount a file system (autofs(5)).
        var numbers = statvfs()
        let number = statvfs(path, &numbers) == 0 ? MountTable.number(ofMountAt: path) : nil
        let failure = errno
        let text = SystemFile.text(at: "/proc/self/mountinfo") ?? ""
        if let reason = HiddenFolders.last(of: text).reason(for: path),
            !DiskSettings.shared.contains(SystemFile.target(of: path))
        {
            throw CheckFailure("cannot access \(path): \(reason)")
        }
        guard let number else {
            if errors.contains(failure) { return .broken(SystemErrorText.text(of: failure)) }
            if failure == ENOENT || failure == ENOTDIR { return .missing }
            throw CheckFailure("cannot access \(path): \(SystemErrorText.text(of: failure))")
        }
        let table = MountTable(text)
        guard let mount = table[number] else { throw CheckFailure("cannot find where \(path) is mounted") }
        let fstab = SystemFile.text(at: "/etc/fstab") ?? ""
        let target = SystemFile.target(of: path)
        let mustBeMounted = settings.mounted ?? MountTable.isMountedAtStart(target, by: fstab)
        if mustBeMounted, !table.isMounted(at: target) { return .notMounted }
        var found = FileSystem(numbers)
        found.note(mount, fstab: fstab)
        return .found(found)
    }
}
