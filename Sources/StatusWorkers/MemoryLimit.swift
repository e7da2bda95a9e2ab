// SPDX-License-Identifier: Apache-2.0

import CLinux
import EventLoopIO
import Glibc

public enum MemoryLimit {
    public enum Kind: Sendable {
        /// Everything that is mapped, also files.
        case addressSpace
        /// What the process itself writes to.
        case data
    }

    /// Allows `size` more bytes of memory than this process has now; returns the reason if that fails.
    public static func set(additional size: Int, of kind: Kind = .addressSpace) -> String? {
        // By default, each thread has an arena of 64 MiB of address space.
        mallopt(M_ARENA_MAX, 1)
        guard let used = used(kind) else { return "cannot read /proc/self/statm" }
        let maximum = used + rlim_t(size)
        var limit = rlimit(rlim_cur: maximum, rlim_max: maximum)
        let resource = kind == .data ? RLIMIT_DATA : RLIMIT_AS
        guard setrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0 else {
            return "cannot limit the memory of the worker: \(String(cString: strerror(errno)))"
        }
        return nil
    }

    /// What this process uses, in bytes.
    private static func used(_ kind: Kind) -> rlim_t? {
        // The kernel counts pages: of all mappings first, and of data and stack in the sixth place (proc(5)).
        let fields = (SystemFile.text(at: "/proc/self/statm") ?? "").split { $0 == " " || $0 == "\n" }
        guard fields.count > 5 else { return nil }
        let pages = rlim_t(fields[kind == .data ? 5 : 0])
        return pages.map { $0 * rlim_t(sysconf(Int32(_SC_PAGESIZE))) }
    }
}
