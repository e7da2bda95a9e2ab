// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO

/// The following of a unit, which ends when this is cancelled or let go.
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

    /// Stops following and lets the handler go; calls of ``read(within:)`` return.
    public func cancel() { bus.remove(follower, from: unit) }

    /// Reads the unit again.
    ///
    /// Returns when the handler was told what the unit is like, or why that cannot be known, and when the task is cancelled.
    ///
    /// - Parameter limit: how long the service manager has to answer.
    public func read(within limit: Duration) async {
        await follower.wait(atMost: limit) { bus.read(unit) }
    }
}
