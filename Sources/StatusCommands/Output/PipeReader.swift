// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc

/// Whoever reads standard output, where that is a pipe or a socket.
///
/// When the reader goes away the process ends, without a word and with status 0: a stream that is quiet would find it out only with the next line.
@EventLoop
final class PipeReader {
    private var source: IOSource?

    init() {
        // What cannot be watched, such as a file, has nobody who goes away.
        source = try? IOSource(descriptor: STDOUT_FILENO, events: .hangUp) { events in
            if !events.isDisjoint(with: [.hangUp, .error]) { exit(ExitStatus.done.rawValue) }
        }
    }
}
