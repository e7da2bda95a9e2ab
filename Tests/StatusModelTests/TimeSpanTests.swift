// SPDX-License-Identifier: Apache-2.0

import StatusModel
import Testing

@Suite("Spans of time") struct TimeSpanTests {
    @Test(
        "the spans that systemd.time(7) accepts are accepted",
        arguments: [
            ("30", 30_000_000), ("30s", 30_000_000), ("5min", 300_000_000), ("5 min", 300_000_000),
            ("1h 30min", 5_400_000_000), ("1h30m", 5_400_000_000), ("1.5h", 5_400_000_000), ("0.25s", 250_000),
            ("100ms", 100_000), ("26h", 93_600_000_000), ("2 days", 172_800_000_000), ("1w", 604_800_000_000),
            ("7µs", 7), ("1M", 2_629_800_000_000), (" 1s ", 1_000_000), ("0", 0),
        ])
    func reads(_ text: String, _ microseconds: Int64) {
        #expect(TimeSpan.parse(text) == .microseconds(microseconds))
    }

    @Test(
        "an invalid span is refused",
        arguments: [
            "", " ", "s", "-1s", "1x", "1.s", ".5s", "1e3", "1s,2s", "300000000y", "99999999999999999999",
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
