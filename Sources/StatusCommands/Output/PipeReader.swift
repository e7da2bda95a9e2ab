// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc

/// Ends the process when the reader of its output disconnects.
///
/// The exit status is 0. A stream without events would otherwise notice this only with the next line.
@EventLoop
final class PipeReader {
    private var source: IOSource?

    /// From now on, an interrupt and the end of the reader end the process with status 0.
    static func withInterrupt() -> PipeReader {
        for interruption in [SIGINT, SIGTERM] { signal(interruption) { _ in _exit(0) } }
        return PipeReader()
    }

    private init() {
        // A file, for example, cannot be polled, and has no reader.
        let copy = dup(STDOUT_FILENO)
        guard copy >= 0 else { return }
        source = try? IOSource(OwnedDescriptor(adopting: copy), events: .hangUp) { events in
            if !events.isDisjoint(with: [.hangUp, .error]) { exit(ExitStatus.done.rawValue) }
        }
    }
}
