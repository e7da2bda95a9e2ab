// SPDX-License-Identifier: Apache-2.0

/// Waits, once, until a descriptor is ready.
@EventLoop
public final class Readiness {
    private var source: IOSource?
    private var isDecided: Bool?
    private var continuation: CheckedContinuation<Bool, Never>?

    /// Watches `descriptor`, and keeps it open, until it is ready.
    public init(of descriptor: OwnedDescriptor, for events: IOSource.Events) throws(IOError) {
        source = try IOSource(descriptor, events: events) { [weak self] _ in self?.decide(true) }
    }

    /// Returns true when the descriptor is ready, false when ``cancel()`` was called before; one may wait.
    ///
    /// That the task is cancelled changes nothing.
    public func wait() async -> Bool {
        await withCheckedContinuation { continuation in
            if let isDecided { return continuation.resume(returning: isDecided) }
            self.continuation = continuation
        }
    }

    /// The same, but returns false as soon as the task is cancelled.
    public func waitUnlessCancelled() async -> Bool {
        await withTaskCancellationHandler {
            await wait()
        } onCancel: {
            EventLoop.perform { self.cancel() }
        }
    }

    /// Lets whoever waits go.
    public func cancel() { decide(false) }

    private func decide(_ isReady: Bool) {
        guard isDecided == nil else { return }
        isDecided = isReady
        source?.cancel()
        source = nil
        continuation?.resume(returning: isReady)
        continuation = nil
    }
}
