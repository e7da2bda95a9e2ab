// SPDX-License-Identifier: Apache-2.0

public import NotificationStreams
public import StatusModel

extension NotificationName where UserInfo == Selection {
    /// The selection moved; the object is the ``StatusMonitor``.
    public static var didSelectServer: Self { Self() }
}

/// Which server is selected, and since which event: what the watcher's task is bound to.
public struct Selection: Sendable, Equatable {
    /// The revision at which the selection moved here; 0 before it ever moved.
    public let revision: Int
    /// The selected server; nil where none is.
    public let server: Server?

    public static func == (left: Selection, right: Selection) -> Bool { left.revision == right.revision }
}

/// What ``StatusMonitor/select(_:)`` did.
public struct SelectionChange: Sendable {
    /// What is selected now.
    public let selection: Selection
    /// The server that is selected now, with all of its state.
    public let state: ServerState?
    /// The name of the one that was selected before.
    public let previous: ServerName?
    /// Whether the selection moved.
    public let isChange: Bool
    /// The place behind the change.
    public let cursor: Cursor
}

/// The selections of a monitor: the current one first, then each newer one that is still current when it is asked for.
public struct Selections: AsyncSequence, Sendable {
    public typealias Element = Selection
    public typealias Failure = Never

    private let monitor: StatusMonitor

    init(monitor: StatusMonitor) { self.monitor = monitor }

    public func makeAsyncIterator() -> Iterator { Iterator(monitor: monitor) }

    /// Listens first, then looks: nothing is missed between the two.
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
    /// The selections, the current one first.
    ///
    /// Ends when its task is cancelled.
    public var selections: Selections { Selections(monitor: self) }
}
