// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusSupport
import Testing

@testable import StatusCommands

@Suite("What top shows") struct TopModelTests {
    func server(_ name: String, _ level: Level = .ok, text: String = "up", selected: Bool = false) throws
        -> ServerState
    {
        var state = ServerState(name: try #require(ServerName(name)), source: "push", phase: .loaded)
        let time = Timestamp(milliseconds: 0)
        state.status = Status(text: try StatusText(text), level: level, changedAt: time, updatedAt: time)
        state.isSelected = selected
        return state
    }

    func event(_ kind: EventKind, _ server: ServerState? = nil, _ servers: [ServerState]? = nil)
        -> EventFollower.Step
    {
        .event(Event(kind: kind, cursor: Cursor(epoch: .none, revision: 1), server: server, servers: servers))
    }

    /// A model of ten servers, s0 to s9, of which s3 is selected, on a screen with four rows for them, the bar on s3.
    func model() throws -> TopModel {
        var model = TopModel()
        model.visibleRows = 4
        apply(event(.snapshot, nil, try (0..<10).map { try server("s\($0)", selected: $0 == 3) }), &model)
        _ = press([.down, .down, .down], &model)
        return model
    }

    func apply(_ step: EventFollower.Step, _ model: inout TopModel) {
        model.apply(step)
        model.place()
    }

    func press(_ keys: [Key], _ model: inout TopModel) -> [TopModel.Action] {
        keys.compactMap { model.press($0) }
    }

    @Test("the bar goes on behind a coloured word, and covers all columns")
    func barCoversColours() {
        let line = CellText.reversed("db \u{1b}[31mdown\u{1b}[0m now", width: 12)
        #expect(line == "\u{1b}[7m            \rdb \u{1b}[31mdown\u{1b}[0;7m now")
        #expect(CellText.plain("db \u{1b}[31mdown\u{1b}[0m now") == "db down now")
    }

    @Test("the bar is on the worst server, and stays on the first row until the user moves it")
    func bar() throws {
        var model = TopModel()
        apply(event(.snapshot, nil, try (0..<10).map { try server("s\($0)", $0 == 8 ? .warning : .ok) }), &model)
        #expect((model.current?.name.rawValue, model.offset) == ("s8", 0))
        apply(event(.changed, try server("s5", .critical)), &model)
        #expect(model.current?.name.rawValue == "s5")
        #expect(press([.down], &model) == [])
        #expect(model.current?.name.rawValue == "s8")
        apply(event(.changed, try server("s7", .critical)), &model)
        #expect(model.current?.name.rawValue == "s8")
        #expect(model.shown.map(\.name.rawValue).prefix(4) == ["s5", "s7", "s8", "s0"])
    }

    @Test("the bar stays on the screen and within the list")
    func scrolling() throws {
        var model = try model()
        for (keys, current, offset) in [
            ([.end], "s9", 6), ([.down], "s9", 6), ([.pageUp], "s5", 5), ([.home], "s0", 0), ([.up], "s0", 0),
            ([.wheelDown], "s3", 0),
            ([.character("G"), .character("g"), .pageDown], "s4", 1), ([.character("k")], "s4", 1),
        ] as [([Key], String, Int)] {
            _ = press(keys, &model)
            #expect((model.current?.name.rawValue, model.offset) == (current, offset), "\(keys)")
        }
    }

    @Test("if the current server is removed, the bar goes to its neighbour")
    func removed() throws {
        var model = try model()
        _ = press([.end], &model)
        apply(event(.removed, try server("s9")), &model)
        #expect(model.current?.name.rawValue == "s8")
        apply(event(.snapshot, nil, []), &model)
        #expect(model.current == nil)
        #expect(press([.enter, .character("r"), .character("*"), .down], &model) == [])
    }

    @Test("keys ask for refreshes, selections and the end; on the details page, too")
    func actions() throws {
        var model = try model()
        let name = TopServer(name: try #require(ServerName("s3")))
        #expect(press([.character("r"), .character("*")], &model) == [.refresh(name), .select(name)])
        #expect(press([.character("s")], &model) == [.silence(name, true)])
        #expect(press([.character("j")], &model) == [.journal(name)])
        #expect(press([.enter, .character("r")], &model) == [.refresh(name)])
        #expect(model.page == .details)
        #expect(press([.escape, .character("?"), .character("x")], &model) == [])
        #expect(model.page == .list)
        #expect(press([.character("q")], &model) == [.quit])
        #expect(press([.control("c"), .control("z")], &model) == [.quit, .suspend])
    }

    @Test("a filter shows servers whose name, text or description contains it; letters are not commands then")
    func filter() throws {
        var model = try model()
        apply(event(.changed, try server("s4", text: "Disk Quota")), &model)
        #expect(press([.character("/"), .character("Q"), .character("u")], &model) == [])
        #expect(model.shown.map(\.name.rawValue) == ["s4"])
        #expect(model.current?.name.rawValue == "s4")
        #expect(press([.backspace, .backspace, .character("9"), .enter], &model) == [])
        #expect(model.shown.map(\.name.rawValue) == ["s9"])
        #expect(press([.escape], &model) == [])
        #expect(model.shown.count == 10)
        #expect(press([.character("/"), .character("x"), .escape, .character("q")], &model) == [.quit])
    }

    @Test("a filter finds the level that is shown, and the one that is counted")
    func filterLevel() throws {
        var model = try model()
        var failed = try server("s4", .critical)
        failed.phase = .failed
        apply(event(.changed, failed), &model)
        apply(event(.changed, try server("s7", .critical)), &model)
        for (text, names) in [("CRIT", ["s4", "s7"]), ("failed", ["s4"])] {
            _ = press([.character("/")] + text.map { .character($0) }, &model)
            #expect(model.shown.map(\.name.rawValue) == names)
            _ = press([.escape], &model)
        }
    }

    @Test("the order changes from the worst first, to names, to the newest change of a level, each from the top")
    func order() throws {
        var model = try model()
        apply(event(.changed, try server("s7", .critical)), &model)
        apply(event(.changed, try server("s5", .warning)), &model)
        var young = try server("s2")
        young.status?.levelChangedAt = Timestamp(milliseconds: 1)
        apply(event(.changed, young), &model)
        apply(event(.changed, ServerState(name: try #require(ServerName("s0")), source: "push", phase: .empty)), &model)
        for expected in [
            ["s0", "s1", "s2"], ["s2", "s1", "s3"], ["s7", "s5", "s1"],
        ] {
            _ = press([.end, .character("o")], &model)
            #expect(model.shown.map(\.name.rawValue).prefix(3) == expected[...])
            #expect((model.current?.name.rawValue, model.offset) == (expected[0], 0))
        }
        #expect(model.shown.last?.name.rawValue == "s0", "one without a status is last")
    }

    @Test("n and N move to the next and the previous problem, also around the ends and between details")
    func problems() throws {
        var model = try model()
        #expect(press([.character("n")], &model) == [])
        #expect((model.current?.name.rawValue, model.message) == ("s3", "no problems"))
        for (name, level) in [("s2", .warning), ("s6", .critical), ("s9", .unknown)] as [(String, Level)] {
            apply(event(.changed, try server(name, level)), &model)
        }
        _ = press([.character("o"), .character("n")], &model)
        #expect(model.current?.name.rawValue == "s2")
        for (key, name) in [("n", "s6"), ("n", "s9"), ("n", "s2"), ("N", "s9"), ("N", "s6")] as [(Character, String)] {
            _ = press([.character(key)], &model)
            #expect(model.current?.name.rawValue == name)
        }
        _ = press([.enter, .character("n")], &model)
        #expect((model.page, model.current?.name.rawValue) == (.details, "s9"))
    }

    @Test("a click moves the bar to that row, and a click on the bar shows the details")
    func mouse() throws {
        var model = try model()
        _ = press([.click(row: TopView.firstRow + 1, column: 5)], &model)
        #expect(model.current?.name.rawValue == "s1")
        _ = press([.click(row: 0, column: 5), .click(row: 23, column: 5)], &model)
        #expect((model.current?.name.rawValue, model.page) == ("s1", .list))
        _ = press([.click(row: TopView.firstRow + 1, column: 5)], &model)
        #expect(model.page == .details)
    }

    /// The lines of a screen.
    func lines(
        _ width: Int, _ height: Int, _ model: inout TopModel,
        _ environment: [String: String] = ["TERM": "xterm", "LANG": "C.UTF-8"], now: Int64 = 0
    ) -> [String] {
        let style = Style(isTerminal: true, environment: environment)
        let size = Screen.Size(width: width, height: height)
        let view = TopView(
            style: style, isUTF8: true, size: size, now: Timestamp(milliseconds: now), place: "statusd web1",
            frame: 0
        ) { "\($0)" }
        return view.lines(&model)
    }

    @Test("columns are as wide as the list needs, so that the level is beside the text")
    func columns() throws {
        var model = try model()
        let row = CellText.plain(lines(200, 24, &model)[2])
        #expect(row.hasPrefix("  s0      up        ok        "), "\(row)")
    }

    @Test("lines fit the screen, and say that the daemon is away", arguments: [(80, 24), (200, 50), (40, 10), (10, 3)])
    func lines(width: Int, height: Int) throws {
        var model = try model()
        for keys in [[], [.enter], [.escape, .character("?")]] as [[Key]] {
            _ = press(keys, &model)
            #expect(lines(width, height, &model).count == max(height, 2))
        }
        _ = press([.escape], &model)
        #expect(lines(width, height, &model).joined().contains("ok"), "even the lowest screen shows a server")
        model.apply(.away("the daemon disconnected"))
        let title = lines(width, height, &model)[0]
        #expect(title.contains("statusd w"))
        if width >= 40 { #expect(title.contains("the daemon disconnected")) }
        if width >= 80 { #expect(title.contains("(last: 10 servers)")) }
    }

    @Test("while the daemon is away, ages stand still, in the list and in the details", arguments: [[], [Key.enter]])
    func frozen(keys: [Key]) throws {
        var model = try model()
        _ = press(keys, &model)
        #expect(lines(80, 24, &model, now: 100_000).dropFirst() != lines(80, 24, &model, now: 900_000).dropFirst())
        model.apply(.away("the daemon disconnected"), now: Timestamp(milliseconds: 100_000))
        let (early, late) = (lines(80, 24, &model, now: 100_000), lines(80, 24, &model, now: 900_000))
        #expect(early.dropFirst() == late.dropFirst())
    }

    @Test("the help is whole, also on a narrow screen", arguments: [200, 80, 60, 59, 40])
    func help(width: Int) throws {
        var model = try model()
        _ = press([.character("?")], &model)
        let shown = lines(width, 24, &model).map(CellText.plain)
        #expect(shown.allSatisfy { $0.displayWidth <= width })
        let words = shown.joined(separator: " ").split(separator: " ").joined(separator: " ")
        #expect(words.contains("move the bar"))
        #expect(words.contains("Shift: the terminal's own selection"))
        #expect(words.contains("statusctl(1) says more. any key goes back"))
    }

    @Test("a message is shown with its advice, and ends when the daemon is back")
    func message() throws {
        var model = try model()
        model.message = "cannot reach the daemon: nothing listens at its socket; run “systemctl restart statusd.socket”"
        let shown = lines(60, 24, &model)
        #expect(shown.count == 24)
        #expect(CellText.plain(shown.suffix(2).joined(separator: " ")) == model.message)
        _ = lines(40, 9, &model)
        for _ in 0..<9 { _ = press([.down], &model) }
        model.message = String(repeating: "long ", count: 20)
        let low = lines(40, 9, &model)
        let name = try #require(model.current).name.rawValue
        #expect(low.count == 9)
        #expect(low.contains { CellText.plain($0).contains("  \(name) ") }, "the bar stays on the screen")
        model.apply(.away("the daemon disconnected"))
        #expect(model.message != nil)
        model.apply(.back(isFirst: false))
        #expect(model.message == nil)
    }

    @Test("details stay those of a server that was removed, and a more exact message stays")
    func removedServer() throws {
        var model = try model()
        _ = lines(80, 24, &model)
        _ = press([.enter], &model)
        let name = try #require(model.current)
        let cursor = Cursor(epoch: .none, revision: 9)
        model.apply(.event(Event(kind: .removed, cursor: cursor, server: try server(name.name.rawValue))))
        #expect(lines(80, 24, &model).joined().contains("the server was removed"))
        #expect(press([.character("*")], &model) == [.select(name)])
        _ = press([.escape], &model)
        _ = lines(80, 24, &model)
        #expect(model.current?.name.rawValue == "s4")
        model.message = "the daemon cannot start"
        model.apply(.stillAway("look there"))
        #expect(model.message == "the daemon cannot start")
    }

    @Test("details stay those of one server when another one is selected")
    func detailsOfOneServer() throws {
        var model = try model()
        #expect(press([.enter], &model) == [])
        apply(event(.selected, try server("s8", selected: true)), &model)
        #expect(press([.character("r")], &model) == [.refresh(TopServer(name: try #require(ServerName("s3"))))])
    }

    @Test("a message that is too long for the screen ends in an ellipsis")
    func longMessage() throws {
        var model = try model()
        model.message = "one two three four five six seven eight nine ten"
        let shown = lines(20, 6, &model).map(CellText.plain)
        #expect(shown.last?.hasSuffix("…") == true)
        #expect(shown.suffix(2).joined(separator: " ").hasPrefix("one two three four five six"))
    }

    @Test("Ctrl-L redraws everything, on each page")
    func redraw() throws {
        var model = try model()
        for keys in [[], [.enter], [.character("?")], [.character("/")]] as [[Key]] {
            _ = press(keys, &model)
            #expect(press([.control("l")], &model) == [.redraw])
        }
    }

    @Test("the last changes get the rows that the list does not need, up to half of the screen")
    func pane() throws {
        var model = try model()
        let time = Timestamp(milliseconds: 0)
        model.show(
            try (0..<60).map { number in
                Change(.changed, at: time, revision: number, server: try server("s3", text: "text \(number)"))
            })
        #expect(lines(80, 50, &model).count { $0.contains("text ") } == 24)
        #expect(lines(80, 24, &model).count { $0.contains("text ") } == 10)
        #expect(lines(80, 16, &model).count { $0.contains("text ") } == 5)
        #expect(lines(80, 11, &model).count { $0.contains("text ") } == 0)
    }

    @Test("the last changes get no more rows than there are, and as many while the next server's are read")
    func lowPane() throws {
        var model = try model()
        let change = Change(.added, at: Timestamp(milliseconds: 0), revision: 1, server: try server("s3"))
        #expect(!lines(80, 14, &model).joined().contains("last changes"))
        model.show([change, change])
        #expect(lines(80, 14, &model)[10].contains("s3: last changes"))
        _ = press([.down], &model)
        let moved = lines(80, 14, &model)
        #expect(moved[10].contains("s4: last changes"))
        #expect(moved.count == 14)
        model.show([change])
        #expect(lines(80, 14, &model)[11].contains("s4: last changes"))
    }

    @Test("the last line says which servers are on the screen, unless all are")
    func position() throws {
        var model = try model()
        #expect(!CellText.plain(lines(80, 24, &model)[23]).contains("of"))
        for (width, keys, expected) in [
            (80, [], "  1–5 of 10"), (40, [.end], "  6–10 of 10"),
            (40, [.character("/"), .character("7")], "  1 of 1"),
        ] as [(Int, [Key], String)] {
            _ = press(keys, &model)
            let last = CellText.plain(lines(width, 8, &model)[7])
            #expect(last.hasSuffix(expected))
            #expect(last.displayWidth == width)
        }
        #expect(!lines(10, 8, &model)[7].contains("of"), "a position that would take most of the line")
    }

    @Test("after a filter that matched nothing, the last changes are read again")
    func filterAndBack() throws {
        var model = try model()
        model.show([])
        #expect(!model.changesMustBeRead)
        _ = press([.character("/"), .character("z"), .escape], &model)
        #expect(model.current?.name.rawValue == "s0")
        #expect(model.changesMustBeRead)
    }

    @Test("the title leaves out its least important parts on a narrow terminal, and ends with an ellipsis at last")
    func title() throws {
        var model = try model()
        for level in [Level.critical, .warning, .unknown] {
            apply(event(.added, try server(level.rawValue, level)), &model)
        }
        let counts = "1 critical  1 unknown  1 warning"
        for (width, expected) in [
            (120, "statusd web1  13 servers  \(counts)  worst first  "),
            (80, "statusd web1  13 servers  \(counts)  worst first"), (60, "statusd web1  13 servers  \(counts)"),
            (45, "13 servers  \(counts)"), (40, counts),
        ] {
            let title = CellText.plain(lines(width, 24, &model)[0])
            #expect(title.hasPrefix(expected))
            #expect(width == 120 ? title.displayWidth == width : title == expected)
        }
        #expect(lines(30, 24, &model)[0].hasSuffix("…"))
    }
}
