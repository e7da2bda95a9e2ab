// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Logging

/// An asynchronous sequence of a systemd unit's states, beginning with the present one.
///
/// ```swift
/// for await state in UnitStates("nginx") {
///     if case .properties(let unit) = state { print(unit.activeState, unit.subState) }
/// }
/// ```
///
/// It ends only when its task is cancelled. While the bus or the service manager is away, it yields
/// ``UnitObservation/unreachable(_:)`` and continues. A slow consumer gets only the newest state.
public struct UnitStates: AsyncSequence, Sendable {
    /// A state.
    ///
    /// ``UnitObservation/unanswered`` does not occur.
    public typealias Element = UnitObservation
    /// The sequence never fails.
    public typealias Failure = Never

    private let unit: String
    private let bus: UnitBus?

    /// Creates the sequence of a unit, which need not exist yet.
    ///
    /// - Parameters:
    ///   - unit: the unit's name, or an alias of it: `nginx.service`, or `nginx` for short; other types, such as
    ///     `backup.timer`, need their suffix.
    ///   - bus: a connection to the service manager that all units should share. Without one, each iteration connects
    ///     by itself and logs nothing.
    public init(_ unit: String, over bus: UnitBus? = nil) {
        self.unit = unit
        self.bus = bus
    }

    /// Creates an iterator, which follows the unit from its first call of `next()` until it is released.
    public func makeAsyncIterator() -> Iterator { Iterator(unit: unit, bus: bus) }

    /// Reads the states for one consumer.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let unit: String
        fileprivate let bus: UnitBus?
        private var subscription: UnitSubscription?
        private var states: AsyncStream<UnitObservation>.Iterator?

        fileprivate init(unit: String, bus: UnitBus?) {
            self.unit = unit
            self.bus = bus
        }

        /// Waits for the next state; nil if the task is cancelled.
        public mutating func next() async -> UnitObservation? { await next(isolation: #isolation) }

        /// Waits for the next state on the caller's actor; nil if the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> UnitObservation? {
            if states == nil, !Task.isCancelled {
                let (stream, continuation) = AsyncStream.makeStream(
                    of: UnitObservation.self, bufferingPolicy: .bufferingNewest(1))
                states = stream.makeAsyncIterator()
                subscription = await Self.follow(unit, over: bus) { continuation.yield($0) }
            }
            let state = await states?.next(isolation: actor)
            // A stream yields what it has buffered even in a cancelled task.
            if !Task.isCancelled { return state }
            subscription = nil
            return nil
        }

        @EventLoop
        private static func follow(
            _ unit: String, over bus: UnitBus?, handler: @escaping @EventLoop (UnitObservation) -> Void
        ) -> UnitSubscription {
            let bus = bus ?? UnitBus(logger: Logger(label: "units") { _ in SwiftLogNoOpLogHandler() })
            return bus.follow(unit, handler: handler)
        }
    }
}
