// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StatusDaemon

@Suite("When the state is saved")
struct SavingScheduleTests {
    private let begin = ContinuousClock.now + .seconds(10)

    /// A schedule that has just saved everything.
    private func schedule() -> SavingSchedule {
        var schedule = SavingSchedule()
        schedule.begin(at: begin)
        schedule.succeeded()
        schedule.beginPruning()
        schedule.pruned(at: begin, hasMore: false)
        return schedule
    }

    @Test("a change is saved one second after the last batch, or at once if that time has passed")
    func interval() {
        var schedule = schedule()
        #expect(!schedule.isDue(at: begin + .seconds(1)))
        schedule.notePending()
        #expect(!schedule.isDue(at: begin + .milliseconds(999)))
        #expect(schedule.isDue(at: begin + .seconds(1)))
    }

    @Test("a change for which a caller waits is saved soon")
    func urgent() {
        var schedule = schedule()
        schedule.notePending()
        schedule.hurry()
        #expect(schedule.isDue(at: begin + .milliseconds(50)))
    }

    @Test("limits that change during a search for old entries cause another search at once")
    func changedLimits() {
        var schedule = schedule()
        schedule.pruneSoon()
        schedule.beginPruning()
        schedule.pruneSoon()
        schedule.pruned(at: begin, hasMore: false)
        #expect(schedule.isPruningDue(at: .now))
    }

    @Test("an idle daemon saves the time at long intervals")
    func idle() {
        let schedule = schedule()
        #expect(schedule.next == begin + .seconds(600))
        #expect(schedule.isDue(at: begin + .seconds(600)))
    }

    @Test("after failures the pauses grow to a minute, until saving succeeds")
    func failures() {
        var schedule = schedule()
        var time = begin
        for pause in [1, 2, 4, 8, 16, 32, 60, 60] {
            schedule.notePending()
            schedule.failed(at: time)
            #expect(!schedule.isDue(at: time + .seconds(pause) - .milliseconds(1)))
            time += .seconds(pause)
            #expect(schedule.isDue(at: time))
            schedule.begin(at: time)
        }
        schedule.succeeded()
        schedule.notePending()
        #expect(schedule.isDue(at: time + .seconds(1)))
    }

    @Test("a search for old entries begins a minute after the last one if anything was saved, and has steps")
    func pruning() {
        var schedule = schedule()
        #expect(!schedule.isPruningDue(at: begin + .seconds(1000)))
        schedule.notePending()
        schedule.begin(at: begin + .seconds(1))
        #expect(!schedule.isPruningDue(at: begin + .seconds(59)))
        #expect(schedule.isPruningDue(at: begin + .seconds(60)))
        schedule.beginPruning()
        schedule.pruned(at: begin + .seconds(60), hasMore: true)
        #expect(schedule.isPruningDue(at: begin + .seconds(61)))
    }
}
