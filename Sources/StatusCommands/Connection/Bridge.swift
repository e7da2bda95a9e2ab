// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc

/// Forwards bytes between a socket and the standard input and output of this process.
///
/// It blocks, and keeps at most 64 KiB in each direction, so a reader that stops also stops the writer.
struct Bridge {
    /// One direction.
    private struct Flow {
        let source: Int32
        let target: Int32
        var buffer: [UInt8] = []
        var hasEnded = false

        /// Whether the source has ended and all of its bytes were written.
        var isDone: Bool { hasEnded && buffer.isEmpty }

        /// The events to wait for: input, or room for the bytes that were read.
        ///
        /// The target is always included, because its reader may disconnect.
        var interest: [pollfd] {
            let waits = buffer.isEmpty
            return [
                pollfd(fd: waits && !hasEnded ? source : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: isDone ? -1 : target, events: waits ? 0 : Int16(POLLOUT), revents: 0),
            ]
        }

        /// Reads or writes what is possible without waiting.
        mutating func pass(_ ready: ArraySlice<pollfd>) throws(IOError) {
            let (input, output) = (ready[ready.startIndex].revents, ready[ready.startIndex + 1].revents)
            if output & Int16(POLLERR) != 0 { throw IOError(errno: EPIPE, "cannot write") }
            if !buffer.isEmpty, output != 0 { try write() } else if input != 0 { try read() }
        }

        private mutating func read() throws(IOError) {
            var bytes = [UInt8](repeating: 0, count: 64 * 1024)
            let count = Glibc.read(source, &bytes, bytes.count)
            if count > 0 {
                buffer = Array(bytes[..<count])
            } else if count == 0 || errno == ECONNRESET {
                hasEnded = true
            } else if errno != EAGAIN, errno != EINTR {
                throw IOError(errno: errno, "cannot read")
            }
        }

        private mutating func write() throws(IOError) {
            let count = Glibc.write(target, buffer, buffer.count)
            if count >= 0 {
                buffer.removeFirst(count)
            } else if errno != EAGAIN, errno != EINTR {
                throw IOError(errno: errno, "cannot write")
            }
        }
    }

    let socket: Int32
    /// Whether the end of the input ends the bridge, even if replies are still expected.
    let endsWithInput: Bool

    /// Forwards bytes until the daemon or the reader disconnects; returns why it failed, if it did.
    func run() -> IOError? {
        signal(SIGPIPE, SIG_IGN)
        var calls = Flow(source: STDIN_FILENO, target: socket)
        var replies = Flow(source: socket, target: STDOUT_FILENO)
        do throws(IOError) {
            while !replies.isDone {
                var polled = calls.interest + replies.interest
                if poll(&polled, nfds_t(polled.count), -1) < 0 { continue }
                let wasOpen = !calls.isDone
                try calls.pass(polled[..<2])
                try replies.pass(polled[2...])
                guard wasOpen, calls.isDone else { continue }
                if endsWithInput { break }
                // The daemon closes the connection when it has answered all calls.
                shutdown(socket, Int32(SHUT_WR))
            }
            return nil
        } catch {
            return error.errno == EPIPE || error.errno == ECONNRESET ? nil : error
        }
    }
}
