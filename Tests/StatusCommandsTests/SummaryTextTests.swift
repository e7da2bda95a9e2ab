// SPDX-License-Identifier: Apache-2.0

import StatusModel
import Testing

@testable import StatusCommands

@Suite("Summaries of the history") struct SummaryTextTests {
    private let plain = Style(isTerminal: false, environment: [:])

    @Test(
        "a percentage has at most three decimals, and is 100 or 0 only if it is exact",
        arguments: [
            (0, 10, "0 %"), (10, 10, "100 %"), (1, 2, "50 %"), (1, 8, "12.5 %"), (1, 3, "33.333 %"),
            (2, 3, "66.667 %"), (9_999_999, 10_000_000, "99.999 %"), (1, 10_000_000, "0.001 %"), (1, 0, "0 %"),
        ])
    func percent(_ part: Int, _ whole: Int, _ text: String) { #expect(Percent.short(part, of: whole) == text) }

    @Test("in a column, percentages have three decimals")
    func column() {
        #expect(Percent.column(1, of: 8) == "12.500 %")
        #expect(Percent.column(1, of: 100) == "1.000 %")
        #expect(Percent.column(1, of: 2000) == "0.050 %")
        #expect(Percent.column(1, of: 1) == "100.000 %")
    }

    @Test("each level has a cell of its own, in ASCII, too")
    func cells() {
        let levels: [Level?] = [.ok, .ok, .warning, .critical, .unknown, nil, .ok]
        #expect(Timeline(style: plain, isUTF8: true).cells(levels) == "▁▁▄█▒ ▁")
        #expect(Timeline(style: plain, isUTF8: false).cells(levels) == "..!#? .")
        let text = SummaryText(style: plain, isUTF8: false, width: nil)
        #expect(text.legend == ["  . ok  ! warning  ? unknown  # critical  blank: no status"])
        let coloured = Style(isTerminal: true, environment: ["SYSTEMD_COLORS": "1"])
        #expect(
            Timeline(style: coloured, isUTF8: false).cells([.ok, .ok, nil, .critical])
                == "\u{1b}[32m..\u{1b}[0m \u{1b}[31m#\u{1b}[0m")
    }

    @Test("a summary with the most and the longest parts that a peer may send has a text")
    func longest() throws {
        let longest = try summary((0..<SummaryText.mostParts).map { _ in (.ok, 1 << 50) })
        #expect(SummaryText(style: plain, isUTF8: false, width: 80).lines(longest).count > 2)
    }

    private func summary(_ parts: [(Level?, Int)]) throws -> StatusSummary {
        let begin = Timestamp(milliseconds: 1_700_000_000_000)
        var buckets: [SummaryBucket] = []
        for (level, time) in parts {
            var bucket = SummaryBucket(start: begin)
            (bucket.worst, bucket.times[level], bucket.changes) = (level, time, 1)
            buckets.append(bucket)
        }
        return StatusSummary(
            server: try #require(ServerName("db")), since: begin, until: begin, buckets: buckets)
    }

    @Test("a summary has the availability, a row for each level, and the timeline between its ends")
    func lines() throws {
        let text = SummaryText(style: plain, isUTF8: false, width: nil)
        let hours = 3_600_000
        let summary = try summary([(.ok, 20 * hours), (.warning, hours / 2), (.critical, hours / 2), (nil, 3 * hours)])
        let time = TimeText.full(summary.since)
        #expect(
            text.lines(summary) == [
                "db: 97.619 % available, 4 changes",
                "  ok           20h  83.333 %",
                "  warning    30min   2.083 %",
                "  critical   30min   2.083 %",
                "  no status     3h  12.500 %",
                "  .!# ",
                "  \(time) to \(time)",
            ])
    }

    @Test("a summary of a period in which the history begins says so, and when")
    func beginning() throws {
        var summary = try summary([(nil, 1000), (.ok, 1000)])
        let beginning = Timestamp(milliseconds: summary.until.milliseconds + 1000)
        summary.knownSince = beginning
        let last = SummaryText(style: plain, isUTF8: false, width: nil).lines(summary).last
        #expect(last == "  The history begins at \(TimeText.full(beginning)); before, nothing is known.")
    }

    @Test("without any status there is no availability")
    func nothingKnown() throws {
        let lines = SummaryText(style: plain, isUTF8: false, width: nil).lines(try summary([(nil, 1000)]))
        #expect(lines[0] == "db: no status, 1 change")
    }

    @Test("the ends of the period are below the first and the last cell")
    func ends() throws {
        let summary = try summary(Array(repeating: (.ok, 1000), count: 60))
        let lines = SummaryText(style: plain, isUTF8: false, width: nil).lines(summary).suffix(2)
        #expect(lines.map(\.count) == [62, 62])
    }

    @Test("there are as many cells as fit on a terminal, and 60 without one")
    func parts() {
        #expect(SummaryText.parts(width: 80) == 78)
        #expect(SummaryText.parts(width: 1) == 1)
        #expect(SummaryText.parts(width: 5000) == 1000)
        #expect(SummaryText.parts(width: nil) == 60)
    }

    @Test("on a narrow terminal, the last lines of a summary are wrapped")
    func narrow() throws {
        let text = SummaryText(style: plain, isUTF8: false, width: 40)
        #expect(text.legend == ["  . ok  ! warning  ? unknown  # critical", "  blank: no status"])
        let lines = text.lines(try summary([(.ok, 1000)]))
        #expect(lines.allSatisfy { $0.count <= 40 }, "\(lines)")
        #expect(lines.suffix(2).map(\.count) == [2 + "1970-01-01 00:00:00 to 1970-01-01".count, 2 + "00:00:01".count])
    }
}
