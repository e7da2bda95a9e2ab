// SPDX-License-Identifier: Apache-2.0

import CLinux
import EventLoopIO
import Glibc
public import Varlink

/// Receives the daemon's calls to this worker on standard input, and sends the answers.
public struct WorkerCalls<Call: JSONReadable>: ~Copyable {
    private let connection = STDIN_FILENO
    private var input = MessageInput()

    public init() {
        // The socket is non-blocking, but answers must be sent completely.
        _ = fcntl(connection, F_SETFL, fcntl(connection, F_GETFL) & ~O_NONBLOCK)
    }

    /// Answers the daemon's calls until it disconnects, with limited memory; does not return.
    public static func serve(
        additionalMemory: Int, of kind: MemoryLimit.Kind = .addressSpace, _ answer: (Call) -> some JSONWritable
    ) -> Never {
        signal(SIGPIPE, SIG_IGN)
        var calls = Self()
        let failure = MemoryLimit.set(additional: additionalMemory, of: kind)
        guard calls.greet(WorkerGreeting(refusal: failure)), failure == nil else { exit(0) }
        while let call = calls.wait(), calls.answer(answer(call)) {}
        exit(0)
    }

    /// Sends the greeting; returns whether the daemon is still connected.
    public func greet(_ greeting: WorkerGreeting = WorkerGreeting()) -> Bool { answer(greeting) }

    /// Sends an answer; returns whether the daemon is still connected.
    public func answer(_ value: some JSONWritable) -> Bool {
        let bytes = WorkerMessage.encode(value)
        return write(connection, bytes, bytes.count) == bytes.count
    }

    /// Waits for the next call; returns nil at the end.
    public mutating func wait() -> Call? { wait(until: nil) }

    /// Waits for the next call; returns nil at the end, or when a signal that ends this process is pending.
    mutating func wait(until signals: OwnedDescriptor?) -> Call? {
        while true {
            if let message = input.takeMessage() { return try? WorkerMessage.decode(from: message) }
            var polled = [connection, signals?.rawValue ?? -1].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            poll(&polled, 2, -1)
            if let signals, Signals.takeEnd(from: signals) { return nil }
            guard read() else { return nil }
        }
    }

    /// Reads available bytes; returns whether more may follow.
    private mutating func read() -> Bool {
        guard input.count <= WorkerMessage.maximumBytes else { return false }
        let room = input.room()
        let count = recv(connection, room.baseAddress, room.count, Int32(MSG_DONTWAIT))
        if count > 0 { input.add(count) }
        return count > 0 || count < 0 && (errno == EAGAIN || errno == EINTR)
    }
}
