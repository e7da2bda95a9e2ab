// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Logging

/// The states of a systemd unit, first the present one.
///
/// ```swift
/// for await state in UnitStates("nginx.service") {
///     if case .properties(let unit) = state { print(unit.activeState, unit.subState) }
/// }
/// ```
///
/// It ends when its task is cancelled, and only then: while the bus or the service manager is away, it says so and goes on. Only the newest state
/// waits for a consumer that is slow.
public struct UnitStates: AsyncSequence, Sendable {
    /// What the sequence consists of; ``UnitObservation/unanswered`` is not among it.
    public typealias Element = UnitObservation
    /// It throws nothing.
    public typealias Failure = Never

    private let unit: String
    private let bus: UnitBus?

    /// The states of a unit, which need not exist yet.
    ///
    /// - Parameters:
    ///   - unit: the unit's full name, or an alias of it.
    ///   - bus: the connection to the service manager, which all units should share; without one, each iteration connects by itself and logs
    ///     nothing.
    public init(_ unit: String, over bus: UnitBus? = nil) {
        self.unit = unit
        self.bus = bus
    }

    /// An iterator that follows the unit from its first state on until it is let go.
    public func makeAsyncIterator() -> Iterator { Iterator(unit: unit, bus: bus) }

    /// Takes one state after another.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let unit: String
        fileprivate let bus: UnitBus?
        private var subscription: UnitSubscription?
        private var states: AsyncStream<UnitObservation>.Iterator?

        fileprivate init(unit: String, bus: UnitBus?) {
            self.unit = unit
            self.bus = bus
        }

        /// The next state; nil if the task is cancelled.
        public mutating func next() async -> UnitObservation? { await next(isolation: #isolation) }

        /// The next state; nil if the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> UnitObservation? {
            if states == nil, !Task.isCancelled {
                let (stream, continuation) = AsyncStream.makeStream(
                    of: UnitObservation.self, bufferingPolicy: .bufferingNewest(1))
                states = stream.makeAsyncIterator()
                subscription = await Self.follow(unit, over: bus) { continuation.yield($0) }
            }
            let state = await states?.next(isolation: actor)
            // A stream hands out what it has even if the task was cancelled.
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
