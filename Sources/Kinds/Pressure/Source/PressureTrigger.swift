// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc

/// Reports when programs wait for a resource, as a poll trigger of the kernel (PSI in the kernel's documentation).
///
/// While they wait, it reports that again after each window, so that the check sees when an average passes its limit.
@EventLoop
final class PressureTrigger {
    /// The window in microseconds; without the right to change resource limits, it must be a multiple of 2 s.
    private static let window = 2_000_000

    nonisolated let changes: AsyncStream<Void>
    private var descriptor: OwnedDescriptor?
    private var source: IOSource?

    /// Sets up a trigger; returns nil if the kernel refuses, for example before Linux 6.5, where only root may do that.
    ///
    /// - Parameters:
    ///   - file: the kernel's file, in `/proc/pressure`.
    ///   - threshold: the percentage of the window in which a program must wait.
    init?(at file: String, threshold: Double) {
        let number = open(file, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard number >= 0 else { return nil }
        let descriptor = OwnedDescriptor(adopting: number)
        let trigger = "some \(Int(threshold / 100 * Double(Self.window))) \(Self.window)"
        // The kernel wants the zero byte.
        guard write(number, trigger, trigger.utf8.count + 1) > 0 else { return nil }
        let (changes, change) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.changes = changes
        source = try? IOSource(descriptor, events: .urgent) { [weak self] events in
            // The kernel may take a trigger away, and would report that all the time.
            if events.contains(.error) { self?.end() } else { change.yield() }
        }
        guard source != nil else { return nil }
        self.descriptor = descriptor
        change.onTermination = { [weak self] _ in EventLoop.perform { self?.end() } }
    }

    isolated deinit { end() }

    /// Removes the trigger.
    ///
    /// The kernel then waits for all processors, so the last descriptor of it is closed on another thread.
    private func end() {
        guard let number = descriptor?.rawValue else { return }
        let last = fcntl(number, F_DUPFD_CLOEXEC, 0)
        (source, descriptor) = (nil, nil)
        if last >= 0 { BlockingThread.start { close(last) } }
    }
}
