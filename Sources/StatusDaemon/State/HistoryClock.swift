// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusMonitor

/// The time by which entries of the history are too old.
///
/// It is the wall clock's, unless that jumps: then it goes on without the jump for a day, in which somebody may set the
/// clock right. Otherwise a clock that is wrong by years for a second would cost the whole history.
struct HistoryClock {
    /// How long the wall clock must go on after a jump before it counts.
    static let probation = Duration.seconds(86_400)

    /// The last moment at which the wall clock counted.
    private var settled: Moment
    /// The first moment after a jump; nil if there was none since.
    private var jump: Moment?

    /// A clock that goes on where that of the last run ended.
    ///
    /// - Parameter last: the ``time(at:tolerance:)`` of that run, and when it was saved, by this boot's clock; nil if
    ///   there was none.
    init(after last: Moment?, at now: Moment) { settled = last ?? now }

    /// The time by which entries are too old.
    ///
    /// - Parameter tolerance: what is not yet a jump, in either direction.
    mutating func time(at now: Moment, tolerance: Duration) -> Timestamp {
        if now.jump(since: settled) <= tolerance {
            (settled, jump) = (now, nil)
        } else if let first = jump, now.jump(since: first) <= tolerance {
            if now.boot - first.boot >= Self.probation { (settled, jump) = (now, nil) }
        } else {
            jump = now
        }
        return min(now.wall, settled.wall(at: now.boot))
    }
}

extension Moment {
    /// What the wall clock would show if nobody had set it since this moment.
    fileprivate func wall(at time: Duration) -> Timestamp {
        Timestamp(milliseconds: wall.milliseconds + Int64((time - boot) / .milliseconds(1)))
    }

    /// By how much the wall clock was set since an earlier moment, forwards or backwards.
    fileprivate func jump(since earlier: Moment) -> Duration {
        .milliseconds(abs(wall.milliseconds - earlier.wall(at: boot).milliseconds))
    }
}
