// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StatusModel

@Suite("Spans of time") struct TimeSpanTests {
    @Test(
        "the spans of systemd.time(7) are accepted",
        arguments: [
            ("30", 30_000_000), ("30s", 30_000_000), ("5min", 300_000_000), ("5 min", 300_000_000),
            ("1h 30min", 5_400_000_000), ("1h30m", 5_400_000_000), ("1.5h", 5_400_000_000), ("0.25s", 250_000),
            ("100ms", 100_000), ("26h", 93_600_000_000), ("2 days", 172_800_000_000), ("1w", 604_800_000_000),
            ("7µs", 7), (".5s", 500_000), ("1h .5", 3_600_500_000), ("1M", 2_629_800_000_000), (" 1s ", 1_000_000),
            ("0", 0),
        ])
    func reads(_ text: String, _ microseconds: Int64) {
        #expect(TimeSpan.parse(text) == .microseconds(microseconds))
    }

    @Test(
        "an invalid span is refused",
        arguments: [
            "", " ", "s", "-1s", "1x", "1.s", ".s", ".", "1e3", "1s,2s", "300000000y", "99999999999999999999",
            "292271.99y", "9223372036854.999999s", "9223372036854s 1s",
        ])
    func refuses(_ text: String) {
        #expect(TimeSpan.parse(text) == nil)
    }

    @Test(
        "a span is written with its two largest units",
        arguments: [
            (0, "0"), (30_000_000, "30s"), (90_000_000, "1min 30s"), (93_600_000_000, "1d 2h"), (250_000, "250ms"),
            (5_400_000_001, "1h 30min"), (1_500_000, "1s 500ms"), (7, "7us"),
        ])
    func writes(_ microseconds: Int64, _ text: String) {
        #expect(TimeSpan.text(.microseconds(microseconds)) == text)
    }
}

@Suite("Times that people write") struct TimeExpressionTests {
    /// A Wednesday; local time is two hours ahead.
    private let now = "2026-11-25T12:34:56.789Z"
    private let local = CivilZone.fixed(minutesEast: 120)

    private func time(_ text: String) throws -> String? {
        let now = try #require(Timestamp(now))
        return TimeExpression(text)?.timestamp(now: now, local: local).description
    }

    @Test(
        "a time without a zone is local",
        arguments: [
            ("2026-11-25 12:00", "2026-11-25T10:00:00.000Z"), ("2026-11-25 12:00:30", "2026-11-25T10:00:30.000Z"),
            ("2026-11-25 12:00:30.25", "2026-11-25T10:00:30.250Z"), ("2026-11-25", "2026-11-24T22:00:00.000Z"),
            ("2026-1-2", "2026-01-01T22:00:00.000Z"), ("12:00", "2026-11-25T10:00:00.000Z"),
            ("0:30", "2026-11-24T22:30:00.000Z"), ("23:59:59", "2026-11-25T21:59:59.000Z"),
            ("today", "2026-11-24T22:00:00.000Z"), ("yesterday", "2026-11-23T22:00:00.000Z"),
            ("tomorrow", "2026-11-25T22:00:00.000Z"), ("2026-11-25T12:00", "2026-11-25T10:00:00.000Z"),
            ("Wed 2026-11-25 12:00", "2026-11-25T10:00:00.000Z"), (" 12:00 ", "2026-11-25T10:00:00.000Z"),
        ])
    func local(_ text: String, _ expected: String) throws { #expect(try time(text) == expected) }

    @Test(
        "a zone can be UTC or an offset, as in RFC 3339",
        arguments: [
            ("2026-11-25 12:00 UTC", "2026-11-25T12:00:00.000Z"), ("2026-11-25 UTC", "2026-11-25T00:00:00.000Z"),
            ("12:00 UTC", "2026-11-25T12:00:00.000Z"), ("today UTC", "2026-11-25T00:00:00.000Z"),
            ("2026-11-25T12:00:00Z", "2026-11-25T12:00:00.000Z"),
            ("2026-11-25T12:00:00.123456Z", "2026-11-25T12:00:00.123Z"),
            ("2026-11-25t12:00:00z", "2026-11-25T12:00:00.000Z"),
            ("2026-11-25T12:00:00+01:00", "2026-11-25T11:00:00.000Z"),
            ("2026-11-25T12:00:00-0530", "2026-11-25T17:30:00.000Z"),
            ("2026-11-25 12:00 +01:00", "2026-11-25T11:00:00.000Z"),
            ("Wednesday 2026-11-25 12:00:00 UTC", "2026-11-25T12:00:00.000Z"),
        ])
    func zones(_ text: String, _ expected: String) throws { #expect(try time(text) == expected) }

    @Test(
        "a span before or after now, and a number of seconds, need no zone",
        arguments: [
            ("now", "2026-11-25T12:34:56.789Z"), ("-2h", "2026-11-25T10:34:56.789Z"),
            ("+5min", "2026-11-25T12:39:56.789Z"), ("2h ago", "2026-11-25T10:34:56.789Z"),
            ("1h 30min ago", "2026-11-25T11:04:56.789Z"), ("5min left", "2026-11-25T12:39:56.789Z"),
            ("-1d 2h", "2026-11-24T10:34:56.789Z"), ("@1764072000", "2025-11-25T12:00:00.000Z"),
            ("@0.5", "1970-01-01T00:00:00.500Z"), ("-200y", "1970-01-01T00:00:00.000Z"),
            ("+9000y", "9999-12-31T23:59:59.999Z"),
        ])
    func relative(_ text: String, _ expected: String) throws { #expect(try time(text) == expected) }

    @Test(
        "everything else is refused",
        arguments: [
            "", " ", "foo", "2h", "ago", "- 2x", "25", "2026-11", "2026-02-29", "2026-13-01", "2026-11-31", "26-11-25",
            "24:00", "12:60", "12:00:60", "12", "12:00:00.", "2026-11-25 foo", "2026-11-25 12:00 CEST", "@", "@-1",
            "@5min", "Thu 2026-11-25", "Wed", "Wed 12:00", "today 12:00", "2026-11-25T", "2026-11-25T12:00:00Z UTC",
            "2026-11-25T12:00:00+1:00", "2026-11-25T12:00:00+25:00", "2026-11-25 12:00 UTC UTC", "99999999999999999999",
        ])
    func refused(_ text: String) throws { #expect(try time(text) == nil) }

    @Test("the previous day may be in another month or year, and leap years have an additional day")
    func days() throws {
        func yesterday(_ now: String) throws -> String? {
            let now = try #require(Timestamp(now))
            return TimeExpression("yesterday")?.timestamp(now: now, local: .utc).description
        }
        #expect(try yesterday("2026-01-01T12:00:00.000Z") == "2025-12-31T00:00:00.000Z")
        #expect(try yesterday("2024-03-01T00:00:00.000Z") == "2024-02-29T00:00:00.000Z")
        #expect(try time("2024-02-29 UTC") == "2024-02-29T00:00:00.000Z")
    }

    @Test("every day from the year 1600 to 2400 has its own date")
    func everyDay() {
        for day in Int64(-135_140)...157_055 {
            let date = CivilTime(daysSinceEpoch: day)
            #expect(date.isDate && date.secondsSinceEpoch == day * 86_400)
        }
    }

    @Test("the text of a timestamp is read back unchanged")
    func timestamps() throws {
        for milliseconds in stride(from: Int64(0), to: 253_402_300_799_999, by: 86_399_000_123 * 37) {
            let text = Timestamp(milliseconds: milliseconds).description
            #expect(try time(text) == text)
        }
    }
}
