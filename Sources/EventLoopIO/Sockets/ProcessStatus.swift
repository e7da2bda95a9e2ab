// SPDX-License-Identifier: Apache-2.0

import Glibc

/// What the kernel says of another process (proc_pid_stat(5)).
enum ProcessStatus {
    /// Whether a process is a zombie: it has ended, but its parent has not noticed, or one of its threads waits in the kernel and cannot be killed.
    ///
    /// Such a thread keeps all descriptors open, so locks are held and connections to its sockets are made.
    static func hasEnded(_ process: Int32) -> Bool {
        let descriptor = open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = read(descriptor, &bytes, bytes.count)
        // The state follows the name, which stands in brackets.
        guard count > 0, let end = bytes[..<count].lastIndex(of: UInt8(ascii: ")")) else { return false }
        return end + 2 < count && bytes[end + 2] == UInt8(ascii: "Z")
    }
}
