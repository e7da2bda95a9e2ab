// SPDX-License-Identifier: Apache-2.0

import CLinux
import EventLoopIO
import Glibc

/// The signals of a single-threaded process without an event loop: SIGTERM, SIGINT and SIGCHLD.
enum Signals {
    /// Blocks the signals, and returns a descriptor that is readable when one is pending (signalfd(2)).
    static func take() -> OwnedDescriptor? {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGCHLD, SIG_DFL)
        var set = sigset_t([SIGTERM, SIGINT, SIGCHLD])
        sigprocmask(SIG_BLOCK, &set, nil)
        let descriptor = signalfd(-1, &set, Int32(SFD_CLOEXEC | SFD_NONBLOCK))
        return descriptor < 0 ? nil : OwnedDescriptor(adopting: descriptor)
    }

    /// Takes the pending signals; returns whether the process must end.
    static func takeEnd(from descriptor: OwnedDescriptor) -> Bool {
        var isEnd = false
        var information = signalfd_siginfo()
        while read(descriptor.rawValue, &information, MemoryLayout.size(ofValue: information)) > 0 {
            if information.ssi_signo != UInt32(SIGCHLD) { isEnd = true }
        }
        return isEnd
    }

    /// Waits for a child to end, for at most `limit`.
    static func wait(within limit: Duration) {
        var children = sigset_t([SIGCHLD])
        var time = timespec(limit)
        sigtimedwait(&children, nil, &time)
    }
}

extension timespec {
    init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        self.init(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
    }
}
