// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Reads the state of other processes (proc_pid_stat(5)).
enum ProcessStatus {
    /// Whether a process is a zombie: it has ended, but was not reaped, or one of its threads waits in the kernel.
    ///
    /// Such a thread cannot be killed and keeps all descriptors open, so locks stay held and its sockets accept
    /// connections.
    static func isZombie(_ process: Int32) -> Bool {
        let descriptor = open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = read(descriptor, &bytes, bytes.count)
        // The state follows the name, which is in parentheses.
        guard count > 0, let end = bytes[..<count].lastIndex(of: UInt8(ascii: ")")) else { return false }
        return end + 2 < count && bytes[end + 2] == UInt8(ascii: "Z")
    }
}
