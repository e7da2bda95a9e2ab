// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusMonitor
import StatusStore
import Testing

@testable import StatusDaemon

@Suite("The clock by which entries of the history age")
struct HistoryClockTests {
    private static let year: Int64 = 365 * 86_400
    private static let begin: Int64 = 1_800_000_000

    /// A time in seconds after the begin, with a wall clock that is `set` seconds ahead.
    private func moment(_ seconds: Int64, set: Int64 = 0) -> Moment {
        Moment(wall: time(seconds + set), boot: .seconds(seconds))
    }

    private func time(_ seconds: Int64) -> Timestamp { Timestamp(milliseconds: (Self.begin + seconds) * 1000) }

    private func clock(after last: Moment? = nil, at now: Moment) -> (Int64, Int64) -> Timestamp {
        var clock = HistoryClock(after: last, at: now)
        return { seconds, set in clock.time(at: moment(seconds, set: set), tolerance: .seconds(3600)) }
    }

    @Test("follows the wall clock, and small corrections of it")
    func follows() {
        let read = clock(at: moment(0))
        #expect(read(10, 0) == time(10))
        #expect(read(20, 3000) == time(3020))
        #expect(read(30, 0) == time(30))
        #expect(read(10 * 86_400, 0) == time(10 * 86_400))
    }

    @Test("ignores a wall clock that is set forward by years, and follows it only after a day")
    func forward() {
        let read = clock(at: moment(0))
        #expect(read(10, Self.year) == time(10))
        #expect(read(86_409, Self.year) == time(86_409))
        #expect(read(86_410, Self.year) == time(86_410 + Self.year))
    }

    @Test("follows the wall clock again once it is corrected")
    func forwardAndBack() {
        let read = clock(at: moment(0))
        #expect(read(10, Self.year) == time(10))
        #expect(read(20, 0) == time(20))
        #expect(read(86_420, Self.year) == time(86_420))
    }

    @Test("goes back with a wall clock that is set back, and is correct again when that is corrected")
    func backward() {
        let read = clock(at: moment(0))
        #expect(read(10, -Self.year) == time(10 - Self.year))
        #expect(read(86_000, 0) == time(86_000))
        #expect(read(86_010, -Self.year) == time(86_010 - Self.year))
        // After a day the wrong time counts, so the correction is a jump.
        #expect(read(86_010 + 86_400, -Self.year) == time(86_010 + 86_400 - Self.year))
        #expect(read(86_010 + 86_401, 0) == time(86_010 + 86_401 - Self.year))
    }

    @Test("counts the time in which the daemon was down, however long, if the machine has not booted")
    func restart() {
        let read = clock(after: moment(-1_000_000), at: moment(0))
        #expect(read(10, 0) == time(10))
    }

    @Test("follows a clock that is far ahead after a boot only after a day")
    func boot() {
        func saved(_ time: Int64, at seconds: Int64) -> Moment? {
            var contents = StoreContents()
            contents.historyClock = self.time(time)
            return contents.historyTime(at: moment(seconds))
        }
        let briefly = clock(after: saved(-1800, at: 0), at: moment(0))
        #expect(briefly(10, 0) == time(10))
        let long = clock(after: saved(-Self.year, at: 0), at: moment(0))
        #expect(long(10, 0) == time(10 - Self.year))
        #expect(long(86_410, 0) == time(86_410))
    }
}
