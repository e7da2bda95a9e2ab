// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusSupport
import Testing

@testable import StatusCommands

@Suite("Bars of values") struct ValueBarsTests {
    static let values = [
        MeasuredValue("used", 71, "%", warning: 85, critical: 95), MeasuredValue("inodes", 85, "%", warning: 85),
        MeasuredValue("free", 28e9, "B", warning: 20e9, critical: 10e9),
    ]

    func lines(
        _ values: [MeasuredValue], width: Int, isUTF8: Bool = true, colours: Bool = false, worst: Level? = .critical
    ) -> [String] {
        let style = Style(isTerminal: true, environment: ["TERM": colours ? "xterm" : "dumb", "LANG": "C.UTF-8"])
        return ValueBars(style: style, isUTF8: isUTF8, width: width).lines(values, atWorst: worst)
    }

    @Test("no value is shown as worse than its server: a plugin's limit of 40 may mean more than 40")
    func capped() {
        let values = [MeasuredValue("jobs", 40, "", warning: 40, critical: 52)]
        #expect(lines(values, width: 20, worst: .ok)[0].contains("warning") == false)
        #expect(lines(values, width: 20, worst: .warning)[0].contains("40 warning"))
    }

    @Test("a percentage has a bar in eighths of a column, and other values only their number, in the same column")
    func bars() {
        #expect(
            lines(Self.values, width: 80) == [
                "used   [███████████▍    ]   71% (warning 85%, critical 95%)",
                "inodes [█████████████▋  ]   85% warning (from 85%)",
                "free                      28 GB (warning 20 GB, critical 10 GB)",
            ])
        #expect(
            lines(Self.values, width: 80, isUTF8: false).map { $0.prefix(25) } == [
                "used   [############    ]", "inodes [##############  ]", "free                     ",
            ])
    }

    @Test("a bar is full only at the maximum, and something is more than an empty bar")
    func ends() {
        let parts = [0, 0.1, 100, 130, -5, .nan].map { lines([MeasuredValue("a", $0, "%")], width: 60)[0] }
        for (line, bar) in zip(parts, ["", "▏", "████████████████", "████████████████", ""]) {
            #expect(line.contains("[\(bar.fitted(to: 16))]"), "\(line)")
        }
        #expect(!parts[5].contains("["))
    }

    @Test("a limit that is reached is a colour and a word; smaller may be worse")
    func levels() {
        let days = MeasuredValue("days", 1, "", warning: 14, critical: 2)
        let full = MeasuredValue("used", 97, "%", warning: 85, critical: 95)
        let shown = lines([days, full], width: 80, colours: true)
        #expect(shown[0].contains("\u{1b}[31m  1 critical\u{1b}[0m"))
        #expect(shown[1].contains("[\u{1b}[31m███████████████▌\u{1b}[0m]"))
        #expect(CellText.plain(shown[1]).hasSuffix("97% critical (from 95%)"))
        #expect(lines([MeasuredValue("a", 5, "%")], width: 80, colours: true)[0].hasPrefix("a [▊"))
    }

    @Test("with less room, limits go first, then bars get shorter; the word of a level stays", arguments: 20...70)
    func narrow(width: Int) {
        for line in lines(Self.values, width: width) { #expect(line.displayWidth <= width) }
        let inodes = lines(Self.values, width: width)[1]
        #expect(inodes.contains("85% warning"))
        #expect(inodes.contains("[") == (width >= 29))
        #expect(inodes.contains("(from 85%)") == (width >= 50))
    }
}
