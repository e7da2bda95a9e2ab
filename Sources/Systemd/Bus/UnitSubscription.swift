// SPDX-License-Identifier: Apache-2.0

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

    /// Stops following and lets the handler go; calls of ``read()`` return.
    public func cancel() { bus.remove(follower, from: unit) }

    /// Reads the unit again.
    ///
    /// Returns when the handler was told what the unit is like, or why that cannot be known, and when the task is cancelled.
    public func read() async {
        await follower.wait { bus.read(unit) }
    }
}
