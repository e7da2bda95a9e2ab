// SPDX-License-Identifier: Apache-2.0

import StatusModel
import Testing

@testable import StatusCommands

@Suite("Graphs of the history") struct GraphTextTests {
    private let plain = Style(isTerminal: false, environment: [:])

    private func lines(_ values: [Double?], unit: String = "%", isUTF8: Bool = true, width: Int? = nil) throws
        -> [String]
    {
        let since = Timestamp(milliseconds: 1_700_000_000_000)
        let part: Int64 = 60_000
        var buckets: [SummaryBucket] = []
        for (index, value) in values.enumerated() {
            var bucket = SummaryBucket(start: Timestamp(milliseconds: since.milliseconds + Int64(index) * part))
            (bucket.worst, bucket.value) = (index == 1 ? .critical : .ok, value)
            buckets.append(bucket)
        }
        var summary = StatusSummary(
            server: try #require(ServerName("db")), since: since,
            until: Timestamp(milliseconds: since.milliseconds + Int64(values.count) * part), buckets: buckets)
        summary.measured = SummaryValue(name: "used", unit: unit, names: [])
        return GraphText(summaries: SummaryText(style: plain, isUTF8: isUTF8, width: width)).lines(summary)
    }

    @Test("a rising value is a line from the lowest number to the highest, below the levels")
    func rising() throws {
        let lines = try lines((0..<20).map { Double($0) + 10 })
        #expect(lines[1] == "   level  █▁▁▁▁▁▁▁▁▁")
        #expect(lines[2].hasPrefix("  used: 10% to 29% in what is kept; at "))
        #expect(lines[2].hasSuffix(": 29%"))
        #expect(lines[3] == "     29% ┤        ⢠⠊")
        #expect(lines[8].hasPrefix("     10% ┤"))
        #expect(!lines[8].hasSuffix(" ┤"))
        #expect(lines[9] == "         └──────────")
    }

    @Test("in ASCII, the line is made of dots, quotation marks and colons")
    func ascii() throws {
        let lines = try lines((0..<20).map { Double($0) }, isUTF8: false)
        #expect(lines.allSatisfy { $0.utf8.allSatisfy { $0 < 0x80 } })
        #expect(lines[3].hasSuffix("'"))
        #expect(lines[8].contains("."))
    }

    @Test("a value whose numbers look the same is a flat line with one number")
    func flat() throws {
        let lines = try lines([50.1, 50.2, 50.3, 50.1])
        #expect(lines[2].hasPrefix("  used: 50% in what is kept; at "))
        #expect(lines.filter { $0.contains("┤") } == ["     50% ┤⠉⠉"])
    }

    @Test("points that are as far apart as usual are connected, and an outage is a gap")
    func gaps() {
        var sparse = DotGraph(columns: 5, lines: 1)
        sparse.draw([1, nil, nil, 1, nil, nil, 1, nil, nil, 1])
        #expect(sparse.lines(isUTF8: true) == ["⠉⠉⠉⠉⠉"])
        var outage = DotGraph(columns: 5, lines: 1)
        outage.draw([1, 1, nil, nil, nil, nil, nil, nil, 1, 1])
        #expect(outage.lines(isUTF8: true) == ["⠉   ⠉"])
    }

    @Test("a jump leaves no hole in the line")
    func jump() {
        var graph = DotGraph(columns: 1, lines: 2)
        graph.draw([0, 1])
        #expect(graph.lines(isUTF8: true) == ["⢸", "⡸"])
    }

    @Test("without a number, there is a sentence instead of a line")
    func nothing() throws {
        #expect(try lines([nil, nil])[2] == "  No numbers were measured in this time.")
    }

    @Test("the most parts, and numbers without end, have a graph")
    func extremes() throws {
        let huge = Double.greatestFiniteMagnitude
        let values: [Double?] = (0..<1000).map { [huge, -huge, .infinity, .nan, 0][$0 % 5] }
        #expect(try lines(values, unit: "furlongs per fortnight", width: 80).count == 11)
    }

    @Test("a graph is as wide as the terminal, and has 60 columns without one")
    func width() throws {
        #expect(GraphText.parts(width: nil) == 100)
        #expect(GraphText.parts(width: 80) == 140)
        #expect(GraphText.parts(width: 3) == 2)
        #expect(try lines(Array(repeating: 5, count: 140), width: 80)[3].count == 80)
    }

    @Test(
        "marks of the time are at full hours, minutes or days, far enough from each other",
        arguments: [
            (60, 1), (3600, 10), (86_400, 60), (2_592_000, 80), (31_536_000, 200), (63_072_000, 100),
        ] as [(Int64, Int)])
    func marks(_ seconds: Int64, _ columns: Int) {
        let since = Timestamp(milliseconds: 1_700_000_123_000)
        let marks = TimeMarks.marks(
            since, Timestamp(milliseconds: since.milliseconds + seconds * 1000), columns: columns)
        #expect(marks.count <= columns / 8)
        #expect(columns < 40 || marks.count >= 3)
        for (left, right) in zip(marks, marks.dropFirst()) { #expect(left.column + left.word.count < right.column) }
    }
}
