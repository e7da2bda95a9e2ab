// SPDX-License-Identifier: Apache-2.0

import CSystemd

/// Calls a handler on the loop whenever a descriptor is ready; level-triggered.
@EventLoop
public final class IOSource {
    /// What a descriptor is ready for.
    public struct Events: OptionSet, Sendable {
        public let rawValue: UInt8

        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// There is something to read, or the peer has closed.
        public static let readable = Events(rawValue: 1)
        /// There is room to write.
        public static let writable = Events(rawValue: 2)
        /// Both directions are closed; reported whether asked for or not.
        public static let hangUp = Events(rawValue: 4)
        /// Something is wrong with the descriptor; reported whether asked for or not.
        public static let error = Events(rawValue: 8)

        init(epoll: UInt32) {
            var events: Events = []
            if epoll & EPOLLIN.rawValue != 0 { events.insert(.readable) }
            if epoll & EPOLLOUT.rawValue != 0 { events.insert(.writable) }
            if epoll & EPOLLHUP.rawValue != 0 { events.insert(.hangUp) }
            if epoll & EPOLLERR.rawValue != 0 { events.insert(.error) }
            self = events
        }

        var epoll: UInt32 {
            (contains(.readable) ? EPOLLIN.rawValue : 0) | (contains(.writable) ? EPOLLOUT.rawValue : 0)
        }
    }

    private var source: OpaquePointer?
    private var handler: (@EventLoop (Events) -> Void)?

    /// What is waited for.
    ///
    /// With none, not even a hang-up is reported.
    public var events: Events {
        didSet {
            guard let source, events != oldValue else { return }
            if events.isEmpty != oldValue.isEmpty {
                sd_event_source_set_enabled(source, events.isEmpty ? Int32(SD_EVENT_OFF) : Int32(SD_EVENT_ON))
            }
            if !events.isEmpty { sd_event_source_set_io_events(source, events.epoll) }
        }
    }

    /// Watches `descriptor`, which has to stay open until ``cancel()``.
    public init(
        descriptor: Int32, events: Events, handler: @escaping @EventLoop (Events) -> Void
    ) throws(SystemdError) {
        self.events = events
        self.handler = handler
        let result = sd_event_add_io(
            EventLoop.executor.event, &source, descriptor, events.epoll, ioCallback,
            Unmanaged.passUnretained(self).toOpaque())
        guard result >= 0 else { throw SystemdError(errno: -result, "cannot watch a descriptor") }
        if events.isEmpty { sd_event_source_set_enabled(source, Int32(SD_EVENT_OFF)) }
    }

    isolated deinit { cancel() }

    /// Stops watching and lets the handler go.
    ///
    /// The descriptor stays open.
    public func cancel() {
        source = sd_event_source_disable_unref(source)
        handler = nil
    }

    func fire(_ events: Events) {
        // A local reference: the handler may cancel the source, and with it release itself.
        let handler = handler
        handler?(events)
    }
}
