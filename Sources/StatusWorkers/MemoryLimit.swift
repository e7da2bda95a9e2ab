// SPDX-License-Identifier: Apache-2.0

import CLinux
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
        guard let file = fopen("/proc/self/statm", "re") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        guard fgets(&line, Int32(line.count), file) != nil else { return nil }
        // The kernel counts pages.
        return rlim_t(strtoul(line, nil, 10)) * rlim_t(sysconf(Int32(_SC_PAGESIZE)))
    }
}
