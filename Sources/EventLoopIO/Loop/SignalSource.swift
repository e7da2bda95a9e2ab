// SPDX-License-Identifier: Apache-2.0

import CLinux
import CSystemd
import Glibc

/// Calls a handler on the loop when the process receives a signal.
@EventLoop
public final class SignalSource {
    private var source: OpaquePointer?
    private var handler: (@EventLoop (Int32) -> Void)?

    /// Blocks signals, so that they wait for a source instead of ending the process.
    ///
    /// Call it first in `main`, while there is one thread: each new thread inherits what is blocked.
    public nonisolated static func block(_ signals: [Int32]) {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in signals { sigaddset(&set, signal) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Handles a signal, which must be blocked (``block(_:)``).
    public init(_ signal: Int32, handler: @escaping @EventLoop (Int32) -> Void) throws(IOError) {
        self.handler = handler
        let result = sd_event_add_signal(
            EventLoop.executor.event, &source, signal, signalCallback, Unmanaged.passUnretained(self).toOpaque())
        guard result >= 0 else { throw IOError(errno: -result, "cannot handle signal \(signal)") }
        // A signal must not wait for thousands of timers that are due.
        sd_event_source_set_priority(source, Int64(SD_EVENT_PRIORITY_IMPORTANT))
    }

    isolated deinit { cancel() }

    /// Stops handling the signal, which stays blocked.
    public func cancel() {
        source = sd_event_source_disable_unref(source)
        handler = nil
    }

    func fire(_ signal: Int32) {
        let handler = handler
        handler?(signal)
    }
}
