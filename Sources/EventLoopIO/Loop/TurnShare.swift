// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The time that one client, or another source of work, may take of a turn of the loop.
///
/// A turn lasts a millisecond if there is much to do. All that have work share it evenly.
public struct TurnShare: Sendable {
    private let end: UInt64

    /// A share of this turn that begins now.
    @EventLoop public init() { self.init(EventLoop.executor.share) }

    /// A share of so much time, less than a second, that begins now.
    public init(_ duration: Duration) {
        end = Self.now + duration.nanoseconds
    }

    /// Whether the rest must wait for the next turn (``EventLoop/atNextTurn(_:)``).
    public var isUsedUp: Bool { Self.now >= end }

    private static var now: UInt64 { nanoseconds(of: CLOCK_MONOTONIC) }
}

extension Duration {
    /// Whole nanoseconds of a time of less than a second.
    fileprivate var nanoseconds: UInt64 { UInt64(components.attoseconds / 1_000_000_000) }
}
