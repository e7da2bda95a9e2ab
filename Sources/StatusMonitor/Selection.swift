// SPDX-License-Identifier: Apache-2.0

public import NotificationStreams
public import StatusModel

extension NotificationName where UserInfo == Selection {
    /// The selection moved; the object is the ``StatusMonitor``.
    public static var didSelectServer: Self { Self() }
}

/// The selected server, and the revision of its selection: the watcher's task is bound to this value.
public struct Selection: Sendable, Equatable {
    /// The revision of the selection; 0 before the first one.
    public let revision: Int
    public let server: Server?

    public static func == (left: Selection, right: Selection) -> Bool { left.revision == right.revision }
}

/// The result of ``StatusMonitor/select(_:)``.
public struct SelectionChange: Sendable {
    public let selection: Selection
    public let state: ServerState?
    public let previous: ServerName?
    public let isChange: Bool
    public let cursor: Cursor
}

/// The selections of a monitor: the current one, then each later one that is still current when it is read.
public struct Selections: AsyncSequence, Sendable {
    public typealias Element = Selection
    public typealias Failure = Never

    private let monitor: StatusMonitor

    init(monitor: StatusMonitor) { self.monitor = monitor }

    public func makeAsyncIterator() -> Iterator { Iterator(monitor: monitor) }

    /// Registers before it reads the selection, so it misses nothing.
    public struct Iterator: AsyncIteratorProtocol {
        private let monitor: StatusMonitor
        private var moves: NotificationBus.Notifications<Selection>.Iterator
        private var seen: Int?

        init(monitor: StatusMonitor) {
            self.monitor = monitor
            moves =
                monitor.bus.notifications(
                    named: .didSelectServer, object: monitor, bufferingPolicy: .bufferingNewest(1)
                ).makeAsyncIterator()
        }

        public mutating func next() async -> Selection? { await next(isolation: nil) }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> Selection? {
            while true {
                let selection = monitor.selection
                if selection.revision != seen {
                    seen = selection.revision
                    return Task.isCancelled ? nil : selection
                }
                guard await moves.next(isolation: actor) != nil else { return nil }
            }
        }
    }
}

extension StatusMonitor {
    /// The selections, the current one first; ends when its task is cancelled.
    public var selections: Selections { Selections(monitor: self) }
}
