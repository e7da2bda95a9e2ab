// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusSupport
import Testing

@testable import StatusCommands

// What top shows on wide terminals.
extension TopModelTests {
    /// The columns of the details, of lines as wide as a terminal with room for them.
    func detailsBeside(_ lines: [String]) -> [String] {
        lines.dropFirst().dropLast().map { CellText.plain(String($0.split(separator: "│").dropFirst().joined())) }
    }

    @Test("a wide terminal shows the details beside the list, which follow the bar; and no last changes below")
    func wide() throws {
        var model = try model()
        let time = Timestamp(milliseconds: 0)
        model.show([Change(.changed, at: time, revision: 1, server: try server("s3", text: "was here"))])
        #expect(lines(147, 30, &model).joined().contains("s3: last changes"))
        #expect(!model.showsDetails)
        let shown = lines(148, 30, &model)
        #expect(model.showsDetails)
        #expect(!shown.joined().contains("last changes"))
        let details = detailsBeside(shown)
        #expect(details[0] == " s3: up")
        #expect(details[1] == "   Level:        ok")
        #expect(details.contains { $0.contains("was here") })
        _ = press([.down], &model)
        #expect(detailsBeside(lines(148, 30, &model))[0] == " s4: up")
        for line in shown.dropFirst().dropLast() {
            // The bar is drawn in blanks first.
            let list = CellText.plain(line).split(separator: "│")[0].split(separator: "\r").last ?? ""
            #expect(list.displayWidth <= 100)
        }
        _ = press([.enter], &model)
        #expect(!lines(148, 30, &model).joined().contains("│"), "the page has the whole width")
    }

    @Test("a click beside the list changes nothing")
    func clickBeside() throws {
        var model = try model()
        _ = lines(148, 30, &model)
        _ = press([.click(row: TopView.firstRow, column: 101)], &model)
        #expect(model.current?.name.rawValue == "s3")
        _ = press([.click(row: TopView.firstRow, column: 99)], &model)
        #expect(model.current?.name.rawValue == "s0")
    }

    @Test("values are bars in the details")
    func values() throws {
        var model = try model()
        var disk = try server("s3")
        disk.values = [MeasuredValue("used", 50, "%", warning: 85)]
        apply(event(.changed, disk), &model)
        let line = try #require(detailsBeside(lines(160, 30, &model)).first { $0.contains("Values:") })
        #expect(line == "   Values:       used [████████        ] 50% (warning 85%)")
    }

    @Test("! shows the command for a key instead of running it, whole, until the next key")
    func commands() throws {
        var model = TopModel(hosts: [TopHost(options: ["-H", "web1", "--address", "/run/a b"])])
        apply(event(.snapshot, nil, [try server("s3")]), &model)
        #expect(press([.character("!")], &model) == [])
        #expect(lines(80, 24, &model)[23].contains("Esc back  show the command for:  * select  r refresh  s silence"))
        let start = "statusctl -H web1 --address '/run/a b' "
        for (key, command) in [
            ("*", "select s3"), ("r", "refresh s3"), ("s", "silence s3 --for 1h"),
        ] as [(Character, String)] {
            #expect(press([.character("!"), .character(key)], &model) == [])
            #expect(CellText.plain(lines(80, 24, &model)[23]) == start + command)
        }
        let narrow = lines(30, 24, &model).map(CellText.plain)
        #expect(narrow.suffix(2).joined(separator: " ") == start + "silence s3 --for 1h")
        var silenced = try server("s3")
        silenced.silence = Silence(since: Timestamp(milliseconds: 0), until: nil, user: nil, reason: nil)
        apply(event(.silenced, silenced), &model)
        _ = press([.enter, .character("!"), .character("s")], &model)
        #expect(lines(80, 24, &model)[23].contains("unsilence s3"))
        #expect(press([.character("!"), .escape, .character("r")], &model).count == 1, "Esc ends it")
        #expect(press([.character("!"), .character("x"), .character("r")], &model) == [], "another key does not")
        #expect(model.page == .details)
    }

    @Test("there are only the 16 colours, bold, faint and reverse; without colours, only reverse, and the same text")
    func colours() throws {
        var model = try model()
        var disk = try server("s1", .warning)
        disk.values = [MeasuredValue("used", 90, "%", warning: 85, critical: 95)]
        apply(event(.snapshot, nil, [try server("s0", .critical), disk, try server("s2", .unknown)]), &model)
        for keys in [[.home], [.enter], [.escape, .character("?")]] as [[Key]] {
            _ = press(keys, &model)
            for width in [80, 160] {
                let shown = lines(width, 24, &model).joined()
                #expect(renditions(shown).isSubset(of: ["0", "0;7", "1", "2", "7", "27", "31", "32", "33", "35"]))
                let plain = lines(width, 24, &model, ["TERM": "xterm", "NO_COLOR": "1", "LANG": "C.UTF-8"]).joined()
                #expect(renditions(plain).isSubset(of: ["0", "7", "27"]))
                #expect(CellText.plain(shown) == CellText.plain(plain))
            }
        }
    }

    /// The parameters of all sequences that change the rendition.
    func renditions(_ text: String) -> Set<String> {
        Set(
            text.split(separator: "\u{1b}[").dropFirst().compactMap { part in
                part.firstIndex { $0.isLetter }.flatMap { part[$0] == "m" ? String(part[..<$0]) : nil }
            })
    }
}
