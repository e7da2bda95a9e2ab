// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import Synchronization

/// Standard error of a command that draws on the terminal while ssh(1) may write there, too.
///
/// Programs that are started inherit a socket in its place. What they write is passed on until the command draws; later, also seconds after a connection
/// broke, it would stay on the screen. For passwords, ssh asks on the terminal itself.
struct ErrorRelay: Sendable {
    private let passage: Passage
    private let source: IOSource

    /// Takes the place of standard error if that is a terminal; nil if it is not, or cannot be replaced.
    @EventLoop
    init?() {
        guard isatty(STDERR_FILENO) == 1, let (ours, theirs) = try? UnixSocket.makePair() else { return nil }
        let terminal = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)
        guard terminal >= 0 else { return nil }
        let passage = Passage(input: ours, output: OwnedDescriptor(adopting: terminal))
        guard let source = try? IOSource(ours, events: .readable, handler: { _ in passage.pass() }) else { return nil }
        (self.passage, self.source) = (passage, source)
        // Programs do not expect a socket that does not block.
        _ = fcntl(theirs.rawValue, F_SETFL, 0)
        dup2(theirs.rawValue, STDERR_FILENO)
    }

    /// From now on, nothing is passed on.
    func mute() { passage.isMuted.store(true, ordering: .relaxed) }

    /// Gives standard error back, after passing on the rest.
    func end() {
        dup2(passage.output.rawValue, STDERR_FILENO)
        passage.pass()
    }

    /// From the socket to the terminal.
    private final class Passage: Sendable {
        let input: OwnedDescriptor
        let output: OwnedDescriptor
        let isMuted = Atomic(false)

        init(input: OwnedDescriptor, output: OwnedDescriptor) { (self.input, self.output) = (input, output) }

        func pass() {
            var bytes = [UInt8](repeating: 0, count: 4096)
            while case let count = read(input.rawValue, &bytes, bytes.count), count > 0 {
                if !isMuted.load(ordering: .relaxed) { _ = write(output.rawValue, bytes, count) }
            }
        }
    }
}
