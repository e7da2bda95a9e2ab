// SPDX-License-Identifier: Apache-2.0

import CLinux
import EventLoopIO
import Glibc

public enum MemoryLimit {
    /// Allows `size` more bytes of address space than this process has now; returns the reason if that fails.
    public static func set(additional size: Int) -> String? {
        // By default, each thread has an arena of 64 MiB of address space.
        mallopt(M_ARENA_MAX, 1)
        guard let used = addressSpace else { return "cannot read /proc/self/statm" }
        let maximum = used + rlim_t(size)
        var limit = rlimit(rlim_cur: maximum, rlim_max: maximum)
        guard setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0 else {
            return "cannot limit the memory of the worker: \(String(cString: strerror(errno)))"
        }
        return nil
    }

    /// The address space of this process, in bytes.
    private static var addressSpace: rlim_t? {
        // The kernel counts pages.
        let pages = SystemFile.text(at: "/proc/self/statm").flatMap { rlim_t($0.prefix { $0 != " " }) }
        return pages.map { $0 * rlim_t(sysconf(Int32(_SC_PAGESIZE))) }
    }
}
