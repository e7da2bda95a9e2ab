// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusModel
import Testing

@testable import StatusCommands

/// Each test has a process of its own, because the time zone belongs to the process.
@Suite("Local times") struct LocalTimeTests {
    @Test("an hour of summer and of winter time is read as clocks show it")
    func bothHalves() async {
        await #expect(processExitsWith: .success) {
            useBerlin()
            #expect(time("2026-07-01 12:00") == "2026-07-01T10:00:00.000Z")
            #expect(time("2026-11-25 12:00") == "2026-11-25T11:00:00.000Z")
            #expect(time("2026-11-25 12:00 UTC") == "2026-11-25T12:00:00.000Z")
        }
    }

    @Test("a day is from midnight to midnight, even if clocks change in it")
    func days() async {
        await #expect(processExitsWith: .success) {
            useBerlin()
            // 25 hours.
            #expect(time("today", now: "2026-10-25T12:00:00.000Z") == "2026-10-24T22:00:00.000Z")
            #expect(time("tomorrow", now: "2026-10-25T12:00:00.000Z") == "2026-10-25T23:00:00.000Z")
            // 23 hours.
            #expect(time("yesterday", now: "2026-03-30T12:00:00.000Z") == "2026-03-28T23:00:00.000Z")
            #expect(time("today", now: "2026-03-30T12:00:00.000Z") == "2026-03-29T22:00:00.000Z")
        }
    }

    @Test("a time of day that comes twice is shown with its offset, and can be read again")
    func shownTwice() async {
        await #expect(processExitsWith: .success) {
            useBerlin()
            func shown(_ time: String) -> String? { Timestamp(time).map { TimeText.full($0) } }
            #expect(shown("2026-10-24T23:59:59.000Z") == "2026-10-25 01:59:59")
            #expect(shown("2026-10-25T00:00:00.000Z") == "2026-10-25 02:00:00+02:00")
            #expect(shown("2026-10-25T01:59:59.000Z") == "2026-10-25 02:59:59+01:00")
            #expect(shown("2026-10-25T02:00:00.000Z") == "2026-10-25 03:00:00")
            #expect(shown("2026-03-29T01:00:00.000Z") == "2026-03-29 03:00:00")
            #expect(time("2026-10-25 02:59:59+01:00") == "2026-10-25T01:59:59.000Z")
        }
    }

    @Test("a time of day that comes twice is the first one, whatever was read before")
    func twice() async {
        await #expect(processExitsWith: .success) {
            useBerlin()
            for before in ["2026-07-01 12:00", "2026-12-01 12:00"] {
                _ = time(before)
                #expect(time("2026-10-25 02:30") == "2026-10-25T00:30:00.000Z")
            }
            #expect(time("2026-10-25 03:00") == "2026-10-25T02:00:00.000Z")
        }
    }

    @Test("a time of day that clocks skip is moved forward by the skipped time")
    func skipped() async {
        await #expect(processExitsWith: .success) {
            useBerlin()
            #expect(time("2026-03-29 02:30") == "2026-03-29T01:30:00.000Z")
            #expect(time("2026-03-29 03:30") == "2026-03-29T01:30:00.000Z")
        }
    }
}

/// The rules of Europe/Berlin, without the files of time zones.
private func useBerlin() {
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1)
    tzset()
}

private func time(_ text: String, now: String = "2026-11-25T12:00:00.000Z") -> String? {
    guard let now = Timestamp(now) else { return nil }
    return TimeExpression(text)?.timestamp(now: now, local: .local).description
}
