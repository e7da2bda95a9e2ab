// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusModel

/// Counts how often in a row a level was found that is worse, or better, than what is shown: once in each interval.
struct LevelCounter {
    private let interval: Duration
    private var hysteresis: Hysteresis
    private var counted: Counted?

    /// The status counted last, and the time at which it counts again if unchanged.
    private struct Counted {
        let direction: Hysteresis.Direction
        let times: Int
        let needed: Int
        let next: Duration
    }

    /// - Parameters:
    ///   - schedule: how many times in a row a level must be found, an interval apart, to count.
    ///   - signedStreak: the results that came before a restart (``Hysteresis/signedStreak``).
    init(_ schedule: CheckSchedule, shown: Level?, signedStreak: Int = 0) {
        interval = schedule.interval
        hysteresis = Hysteresis(
            failures: schedule.failures, successes: schedule.successes, shown: shown, signedStreak: signedStreak)
    }

    var shown: Level? { hysteresis.shown }
    var signedStreak: Int { hysteresis.signedStreak }
    /// Whether a level has been found that does not count yet.
    var isCounting: Bool { counted != nil }

    /// Counts a status; returns what to do, and when to count it again if nothing changes before.
    mutating func count(_ status: UnitStatus, at now: Duration) -> (verdict: UnitJudge.Verdict, again: Duration?) {
        let direction = hysteresis.direction(of: status.level)
        if let counted, counted.direction == direction, now < counted.next {
            return (.hold(status, counted.times, of: counted.needed), counted.next)
        }
        switch hysteresis.take(status.level) {
        case .show:
            counted = nil
            return (.show(status), nil)
        case .hold(let times, let needed):
            let next = now + interval
            counted = direction.map { Counted(direction: $0, times: times, needed: needed, next: next) }
            return (.hold(status, times, of: needed), next)
        }
    }
}
