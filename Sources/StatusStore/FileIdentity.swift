// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// Which file a path leads to, because somebody may remove or replace it.
struct FileIdentity: Equatable, CustomStringConvertible {
    private let device: UInt
    private let inode: UInt
    /// A number of a removed file may be used again.
    private let birth: Int64

    /// The file at a path; nil if there is none.
    init?(of path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        (device, inode) = (UInt(status.st_dev), UInt(status.st_ino))
        birth = linux_birth(path)
    }

    /// What identifies the file also after the machine's boot, which may change the device's number.
    var description: String { "\(inode) \(birth)" }
}
