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
        let copy = dup(STDOUT_FILENO)
        guard copy >= 0 else { return }
        source = try? IOSource(OwnedDescriptor(adopting: copy), events: .hangUp) { events in
            if !events.isDisjoint(with: [.hangUp, .error]) { exit(ExitStatus.done.rawValue) }
        }
    }
}
