// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc

/// The processes that descend from this one, which has to be single-threaded and their subreaper (prctl(2)): whatever loses its parent
/// becomes a child of this process, so that nothing gets away by daemonising.
enum Descendants {
    private static let pause = Duration.milliseconds(50)

    /// Has orphans among the descendants become children of this process.
    static func adoptOrphans() { _ = statusd_adopt_orphans() }

    /// The process ids of the children, dead ones included.
    static func children() -> [pid_t] {
        guard let file = fopen("/proc/thread-self/children", "re") else { return [] }
        defer { fclose(file) }
        var children: [pid_t] = []
        while let child = nextNumber(in: file) { children.append(child) }
        return children
    }

    private static func nextNumber(in file: UnsafeMutablePointer<FILE>) -> pid_t? {
        var number: pid_t?
        while case let byte = getc_unlocked(file), byte != EOF {
            guard let digit = UInt8(exactly: byte), (0x30...0x39).contains(digit) else {
                if number != nil { break }
                continue
            }
            number = (number ?? 0) * 10 + pid_t(digit - 0x30)
        }
        return number
    }

    /// Kills all of them, and those that they leave; returns whether that took no longer than `limit`.
    ///
    /// A process in uninterruptible sleep, or of another user, may take for ever.
    static func end(within limit: Duration) -> Bool {
        let deadline = ContinuousClock.now + limit
        while !reap() {
            for child in children() { kill(child, SIGKILL) }
            let rest = deadline - ContinuousClock.now
            guard rest > .zero else { return false }
            Signals.wait(within: min(rest, pause))
        }
        return true
    }

    /// Takes note of the children that are dead; returns whether there is none left.
    private static func reap() -> Bool {
        while true {
            let child = waitpid(-1, nil, WNOHANG)
            if child < 0, errno != EINTR { return true }
            if child == 0 { return false }
        }
    }
}
