// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StatusModel

@Suite("Times that people write") struct TimeExpressionTests {
    /// Wednesday, two hours later by the clock on the wall.
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

    @Test("days go back over the ends of months and years, and leap years have a day more")
    func days() throws {
        func yesterday(_ now: String) throws -> String? {
            let now = try #require(Timestamp(now))
            return TimeExpression("yesterday")?.timestamp(now: now, local: .utc).description
        }
        #expect(try yesterday("2026-01-01T12:00:00.000Z") == "2025-12-31T00:00:00.000Z")
        #expect(try yesterday("2024-03-01T00:00:00.000Z") == "2024-02-29T00:00:00.000Z")
        #expect(try time("2024-02-29 UTC") == "2024-02-29T00:00:00.000Z")
    }

    @Test("times with a date are what the text of a timestamp says")
    func timestamps() throws {
        for milliseconds in stride(from: Int64(0), to: 253_402_300_799_999, by: 86_399_000_123 * 37) {
            let text = Timestamp(milliseconds: milliseconds).description
            #expect(try time(text) == text)
        }
    }
}
