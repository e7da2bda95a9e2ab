// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

/// Barriers to a receiver (sd_notify_barrier(3)), shared by concurrent callers.
///
/// One barrier at a time is sent. Calls made meanwhile share the next one, so each call's barrier was sent after the
/// call.
@EventLoop
final class SharedBarrier {
    /// Sends one end of a pipe to the receiver, which closes it in order.
    private let send: @EventLoop (OwnedDescriptor) -> Void
    private var source: IOSource?
    private var reading: OwnedDescriptor?
    /// The callers that wait for the present barrier, and those that wait for the next one.
    private var current: [Int: @Sendable () -> Void] = [:]
    private var next: [Int: @Sendable () -> Void] = [:]
    private var lastNumber = 0

    /// The number of waiting callers.
    var waiting: Int { current.count + next.count }

    init(send: @escaping @EventLoop (OwnedDescriptor) -> Void) { self.send = send }

    /// Returns when the receiver has handled everything sent before, after `limit`, or if the task is cancelled.
    ///
    /// It returns at once if there is no descriptor for a barrier.
    func wait(within limit: Duration) async {
        lastNumber += 1
        let number = lastNumber
        // Callers that timed out would otherwise add up.
        defer { (current[number], next[number]) = (nil, nil) }
        await TimedWait<Void>.run(within: limit) { end in
            next[number] = { end(()) }
            if source == nil { begin() }
        }
    }

    private func begin() {
        guard !next.isEmpty else { return }
        (current, next) = (next, [:])
        guard let pipe = OwnedDescriptor.makePipe(),
            let source = try? IOSource(
                pipe.reading, events: .readable, handler: { [weak self] _ in self?.end() })
        else { return end() }
        (self.source, reading) = (source, pipe.reading)
        // Only now, because a barrier without callers would be useless to the receiver.
        send(pipe.writing)
    }

    private func end() {
        source?.cancel()
        (source, reading) = (nil, nil)
        for end in current.values { end() }
        current = [:]
        begin()
    }
}
