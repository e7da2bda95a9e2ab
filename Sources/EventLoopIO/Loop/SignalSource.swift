// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// Calls a handler on the loop when the process receives a signal, until it is cancelled or released.
@EventLoop
package final class SignalSource {
    // Not an sd-event source: after such a source is freed, the kernel still watches its descriptor while a process
    // that is being started holds a copy. The next signal then makes sd-event use freed memory.
    private let source: IOSource

    /// Blocks signals, so that they wait for a source instead of ending the process.
    ///
    /// Call it first in `main`, while there is one thread: each new thread inherits the blocked signals.
    package nonisolated static func block(_ signals: [Int32]) {
        var set = sigset_t(signals)
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Whether this process was started with a signal ignored, which it should then keep ignoring.
    ///
    /// A shell without job control does so with SIGINT for a program in the background.
    package nonisolated static func isIgnored(_ signal: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(signal, nil, &action) == 0 else { return false }
        let handler = action.__sigaction_handler.sa_handler
        return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Handles a signal, which must be blocked (``block(_:)``) and have no other source.
    package init(_ signal: Int32, handler: @escaping @EventLoop (Int32) -> Void) throws(IOError) {
        var set = sigset_t([signal])
        let descriptor = signalfd(-1, &set, Int32(SFD_CLOEXEC) | Int32(SFD_NONBLOCK))
        guard descriptor >= 0 else { throw IOError(errno: errno, "cannot handle signal \(signal)") }
        let owned = OwnedDescriptor(adopting: descriptor)
        source = try IOSource(owned, events: .readable) { _ in
            var information = signalfd_siginfo()
            let size = MemoryLayout.size(ofValue: information)
            if read(descriptor, &information, size) == size { handler(signal) }
        }
    }

    /// Stops handling the signal, which stays blocked.
    package func cancel() { source.cancel() }
}

extension sigset_t {
    package init(_ signals: [Int32]) {
        self.init()
        sigemptyset(&self)
        for signal in signals { sigaddset(&self, signal) }
    }
}
