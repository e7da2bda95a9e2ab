// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO

/// A subscription to a unit, which ends when it is cancelled or released.
@EventLoop
public final class UnitSubscription {
    private let bus: UnitBus
    private let unit: FollowedUnit
    private let follower: UnitFollower

    init(_ bus: UnitBus, _ unit: FollowedUnit, _ follower: UnitFollower) {
        self.bus = bus
        self.unit = unit
        self.follower = follower
    }

    isolated deinit { cancel() }

    /// Ends the subscription and releases the handler; waiting calls of ``read(within:)`` return.
    public func cancel() { bus.remove(follower, from: unit) }

    /// Reads the unit again.
    ///
    /// It returns after the handler was called with the result or a timeout, or when the task is cancelled.
    ///
    /// - Parameter limit: how long the service manager may take to answer.
    public func read(within limit: Duration) async {
        await follower.wait(atMost: limit) { bus.read(unit) }
    }
}
