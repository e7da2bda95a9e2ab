// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

/// Barriers to a receiver (sd_notify_barrier(3)), of which one at a time is under way, however many wait.
///
/// Each who waits is let go by a barrier that was sent after it had begun to wait: all who come while one is under way share the next.
@EventLoop
final class SharedBarrier {
    /// Sends one end of a pipe to the receiver, which closes it when it comes to it.
    private let send: @EventLoop (OwnedDescriptor) -> Void
    private var source: IOSource?
    private var reading: OwnedDescriptor?
    /// Those who wait for the barrier that is under way, and those who wait for the next.
    private var current: [Int: @Sendable () -> Void] = [:]
    private var next: [Int: @Sendable () -> Void] = [:]
    private var lastNumber = 0

    /// How many wait.
    var waiting: Int { current.count + next.count }

    init(send: @escaping @EventLoop (OwnedDescriptor) -> Void) { self.send = send }

    /// Returns when the receiver has handled all that was sent before, after `limit`, or if the task is cancelled; at once if there is no
    /// descriptor for a barrier.
    func wait(within limit: Duration) async {
        lastNumber += 1
        let number = lastNumber
        // Those whose time is over would else add up.
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
        // Only now: one that nobody waits for would only be in the receiver's way.
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
