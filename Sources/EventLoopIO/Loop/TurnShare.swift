// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The time that one client, or whatever else has something to do, may take of a turn of the loop.
///
/// A turn lasts a millisecond, if there is so much to do; the more have something to do, the smaller is the share of each.
public struct TurnShare: Sendable {
    private let begin: UInt64
    private let end: UInt64

    /// A share of this turn, from now on.
    @EventLoop public init() { self.init(EventLoop.executor.share) }

    /// So much of a turn, from now on; less than a second.
    init(_ duration: Duration) {
        begin = Self.now
        end = begin + duration.nanoseconds
    }

    /// Whether it is time to leave the rest to the next turn (``EventLoop/atNextTurn(_:)``).
    public var isUsedUp: Bool { Self.now >= end }

    /// How much of the turn has been taken, in nanoseconds.
    public var nanosecondsTaken: UInt64 { Self.now - begin }

    private static var now: UInt64 { nanoseconds(of: CLOCK_MONOTONIC) }
}

extension Duration {
    /// Whole nanoseconds of a time of less than a second.
    fileprivate var nanoseconds: UInt64 { UInt64(components.attoseconds / 1_000_000_000) }
}
