// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Which file a path leads to, because somebody may remove or replace it.
struct FileIdentity: Equatable {
    private let device: UInt
    private let inode: UInt

    /// The file at a path; nil if there is none.
    init?(of path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        (device, inode) = (UInt(status.st_dev), UInt(status.st_ino))
    }
}
