// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The file of a socket that this process has bound.
public struct SocketFile: Sendable {
    private let path: String
    private let device: dev_t
    private let number: ino_t

    /// Remembers the file that is at `path` now; nil if there is none.
    public init?(at path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.path = path
        device = status.st_dev
        number = status.st_ino
    }

    /// Removes the file, unless another process has replaced it.
    public func remove() {
        guard let now = SocketFile(at: path), now.device == device, now.number == number else { return }
        unlink(path)
    }
}
