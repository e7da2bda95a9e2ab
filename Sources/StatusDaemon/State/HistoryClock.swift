// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusMonitor

/// The clock that decides which entries of the history are too old.
///
/// It follows the wall clock. If the wall clock jumps, this clock ignores the jump for a day, so that somebody can
/// correct the wall clock. Otherwise, one second with a clock that is wrong by years would cost the whole history.
struct HistoryClock {
    /// How long the wall clock must run after a jump before it is followed again.
    static let probation = Duration.seconds(86_400)

    /// The last time at which the wall clock was followed.
    private var settled: Moment
    /// The first time after a jump; nil if there was no jump since.
    private var jump: Moment?

    /// A clock that continues the clock of the last run.
    ///
    /// - Parameter last: the last ``time(at:tolerance:)`` of that run, with the time of this boot at which it was
    ///   saved; nil if there was none.
    init(after last: Moment?, at now: Moment) { settled = last ?? now }

    /// The current time, by which the age of entries is measured.
    ///
    /// - Parameter tolerance: the largest difference, in either direction, that is not a jump.
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
    /// The time that the wall clock would show if nobody had set it since.
    fileprivate func wall(at time: Duration) -> Timestamp {
        Timestamp(milliseconds: wall.milliseconds + Int64((time - boot) / .milliseconds(1)))
    }

    /// By how much the wall clock was set since an earlier time, forwards or backwards.
    fileprivate func jump(since earlier: Moment) -> Duration {
        .milliseconds(abs(wall.milliseconds - earlier.wall(at: boot).milliseconds))
    }
}
