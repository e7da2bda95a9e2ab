// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// Calls a handler on the loop whenever a descriptor is ready, until it is cancelled or released.
///
/// It is public, as is what else an update calls, because the compiler inlines only public functions into other
/// modules.
@EventLoop
public final class IOSource {
    /// What a descriptor is ready for, as in epoll_ctl(2).
    public struct Events: OptionSet, Sendable {
        public let rawValue: UInt32

        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// The descriptor has input, or the peer has closed.
        public static var readable: Events { Events(rawValue: EPOLLIN.rawValue) }
        /// The descriptor has room for output.
        public static var writable: Events { Events(rawValue: EPOLLOUT.rawValue) }
        /// A poll trigger of the kernel has fired.
        public static var urgent: Events { Events(rawValue: EPOLLPRI.rawValue) }
        /// Both directions are closed; reported unless ``events`` is empty.
        public static var hangUp: Events { Events(rawValue: EPOLLHUP.rawValue) }
        /// The descriptor has an error; reported unless ``events`` is empty.
        public static var error: Events { Events(rawValue: EPOLLERR.rawValue) }
    }

    /// The descriptor, until the source is cancelled or released.
    ///
    /// If it were closed earlier, another source could get its number, and would lose its events when this source
    /// stops watching that number.
    private var descriptor: OwnedDescriptor?
    /// The source's key in the loop's table, as long as the descriptor.
    private var key: UInt64?
    private var handler: (@EventLoop (Events) -> Void)?

    /// The events to watch for.
    ///
    /// An empty set reports nothing, not even a hang-up. If the kernel cannot watch for the events, for example
    /// because it has no memory, the source retries every 100 ms.
    public var events: Events {
        didSet { if events != oldValue { watch() } }
    }
    /// Whether the kernel watches the descriptor.
    private var isWatched = false
    private var retry: TimerSource?

    private static let pause = Duration.milliseconds(100)

    /// Watches a descriptor, and keeps it open, until ``cancel()`` or until the source is released.
    ///
    /// - Parameters:
    ///   - descriptor: what to watch.
    ///   - events: the events to watch for.
    ///   - handler: called with the events that occurred, as long as the descriptor is ready.
    public init(
        _ descriptor: OwnedDescriptor, events: Events,
        handler: @escaping @EventLoop (Events) -> Void
    ) throws(IOError) {
        self.descriptor = descriptor
        self.events = events
        self.handler = handler
        let key = EventLoop.executor.pollSet.add(self)
        self.key = key
        let failure = events.isEmpty ? 0 : control(EPOLL_CTL_ADD, key)
        guard failure == 0 else {
            EventLoop.executor.pollSet.remove(key)
            self.key = nil
            throw IOError(errno: failure, "cannot watch a descriptor")
        }
        isWatched = !events.isEmpty
    }

    isolated deinit { cancel() }

    /// Stops watching, and releases the handler and the descriptor.
    public func cancel() {
        guard let key else { return }
        if isWatched { _ = control(EPOLL_CTL_DEL, key) }
        EventLoop.executor.pollSet.remove(key)
        self.key = nil
        retry = nil
        handler = nil
        descriptor = nil
    }

    private func watch() {
        guard let key else { return }
        retry = nil
        if events.isEmpty {
            if isWatched { _ = control(EPOLL_CTL_DEL, key) }
            isWatched = false
        } else if control(isWatched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, key) == 0 {
            isWatched = true
        } else {
            // Without memory for the timer, the source stays silent until `events` is set again.
            retry = try? TimerSource { [weak self] in self?.watch() }
            retry?.schedule(after: Self.pause)
        }
    }

    private func control(_ operation: Int32, _ key: UInt64) -> Int32 {
        guard let descriptor = descriptor?.rawValue else { return EBADF }
        return EventLoop.executor.pollSet.control(operation, descriptor, events.rawValue, key: key)
    }

    func fire(_ ready: Events) {
        // Another handler may have changed the events since the kernel reported this.
        let events = ready.intersection(self.events.isEmpty ? [] : self.events.union([.hangUp, .error]))
        guard !events.isEmpty else { return }
        // A local reference, because the handler may cancel the source and so release itself.
        let handler = handler
        handler?(events)
    }

    /// Waits until a descriptor is ready; false on a timeout or if the task is cancelled.
    public static func wait(
        for events: Events, of descriptor: OwnedDescriptor, within limit: Duration = .seconds(3600)
    ) async throws(IOError) -> Bool {
        var source: IOSource?
        defer { source?.cancel() }
        return try await TimedWait<Void>.run(within: limit, by: .monotonic) { end throws(IOError) in
            source = try IOSource(descriptor, events: events) { _ in end(()) }
        } != nil
    }
}
