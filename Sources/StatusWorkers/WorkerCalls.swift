// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
public import Varlink

/// The calls that the daemon sends to a worker, whose standard input is its end of the connection.
public struct WorkerCalls<Call: JSONReadable>: ~Copyable {
    private let connection = STDIN_FILENO
    private var input = MessageInput()

    /// No call yet.
    public init() {
        // A connection that is one end of a pair does not block, but answers have to be sent in whole.
        _ = fcntl(connection, F_SETFL, fcntl(connection, F_GETFL) & ~O_NONBLOCK)
    }

    /// Says that the worker is ready, or why it is not; returns whether the daemon is still there.
    public func greet(_ greeting: WorkerGreeting = WorkerGreeting()) -> Bool { answer(greeting) }

    /// Sends an answer; returns whether the daemon is still there.
    public func answer(_ value: some JSONWritable) -> Bool {
        let bytes = WorkerMessage.encode(value)
        return write(connection, bytes, bytes.count) == bytes.count
    }

    /// Waits for the next call; nil if there is none any more.
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

    /// The next call that has been read; nil if there is none.
    ///
    /// - Throws: a `JSONError` if it is not one.
    public mutating func next() throws(JSONError) -> Call? {
        guard let message = input.takeMessage() else { return nil }
        return try WorkerMessage.decode(from: message)
    }

    /// Reads what there is now; returns whether more may come.
    public mutating func read() -> Bool {
        guard input.count <= WorkerMessage.maximumBytes else { return false }
        let room = input.room()
        let count = recv(connection, room.baseAddress, room.count, Int32(MSG_DONTWAIT))
        if count > 0 { input.add(count) }
        return count > 0 || count < 0 && (errno == EAGAIN || errno == EINTR)
    }
}
