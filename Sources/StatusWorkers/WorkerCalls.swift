// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
public import Varlink

/// Receives the daemon's calls to this worker on standard input, and sends the answers.
public struct WorkerCalls<Call: JSONReadable>: ~Copyable {
    private let connection = STDIN_FILENO
    private var input = MessageInput()

    /// Prepares the connection.
    public init() {
        // The socket is non-blocking, but answers must be sent completely.
        _ = fcntl(connection, F_SETFL, fcntl(connection, F_GETFL) & ~O_NONBLOCK)
    }

    /// Sends the greeting; returns whether the daemon is still connected.
    public func greet(_ greeting: WorkerGreeting = WorkerGreeting()) -> Bool { answer(greeting) }

    /// Sends an answer; returns whether the daemon is still connected.
    public func answer(_ value: some JSONWritable) -> Bool {
        let bytes = WorkerMessage.encode(value)
        return write(connection, bytes, bytes.count) == bytes.count
    }

    /// Waits for the next call; returns nil at the end.
    public mutating func wait() -> Call? {
        while true {
            do throws(JSONError) {
                if let call = try next() { return call }
            } catch {
                return nil
            }
            var polled = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
            poll(&polled, 1, -1)
            guard read() else { return nil }
        }
    }

    /// Returns the next call that has been read, if any.
    ///
    /// - Throws: a `JSONError` if it is invalid.
    public mutating func next() throws(JSONError) -> Call? {
        guard let message = input.takeMessage() else { return nil }
        return try WorkerMessage.decode(from: message)
    }

    /// Reads available bytes; returns whether more may follow.
    public mutating func read() -> Bool {
        guard input.count <= WorkerMessage.maximumBytes else { return false }
        let room = input.room()
        let count = recv(connection, room.baseAddress, room.count, Int32(MSG_DONTWAIT))
        if count > 0 { input.add(count) }
        return count > 0 || count < 0 && (errno == EAGAIN || errno == EINTR)
    }
}
