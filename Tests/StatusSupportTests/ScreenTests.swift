// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StatusSupport

@Suite("A screen") struct ScreenTests {
    private let size = Screen.Size(width: 20, height: 3)

    /// The output with readable escapes.
    private func update(_ screen: inout Screen, _ lines: [String], _ size: Screen.Size? = nil) -> String {
        screen.update(lines, size: size ?? self.size).replacing("\u{1b}", with: "^")
    }

    @Test("the first update clears the terminal and writes everything; repeating it writes nothing")
    func first() {
        var screen = Screen()
        #expect(update(&screen, ["Signed In", "", "ok"]) == "^[0m^[2J^[1;1HSigned In^[3;1Hok")
        #expect(update(&screen, ["Signed In", "", "ok"]) == "")
    }

    @Test("only changes are written, and removed text becomes blank")
    func changes() {
        var screen = Screen()
        _ = update(&screen, ["db  Signed In", "web up"])
        #expect(update(&screen, ["db  Signed Out", "web up"]) == "^[1;12HOut")
        #expect(update(&screen, ["db", "web up"]) == "^[1;5H          ")
        #expect(update(&screen, ["db", "web up", "x                  y"]) == "^[3;1Hx^[3;20Hy")
    }

    @Test("colours are set where they change, and reset at the end")
    func colours() {
        var screen = Screen()
        _ = update(&screen, [])
        #expect(update(&screen, ["a \u{1b}[31mred\u{1b}[0m b"]) == "^[1;1Ha ^[0;31mred^[0m b")
        #expect(update(&screen, ["a \u{1b}[31mred\u{1b}[0m b"]) == "")
        #expect(update(&screen, ["a \u{1b}[1;32mred\u{1b}[0m b"]) == "^[1;3H^[0;1;32mred^[0m")
    }

    @Test("a reversed line is reversed to its end")
    func reversed() {
        var screen = Screen()
        _ = update(&screen, [])
        #expect(update(&screen, ["\u{1b}[7mdb"]) == "^[1;1H^[0;7mdb" + String(repeating: " ", count: 18) + "^[0m")
    }

    @Test("wide characters take two cells, are replaced as a whole, and are omitted if only half of them fits")
    func wide() {
        var screen = Screen()
        _ = update(&screen, ["日本 x"])
        #expect(update(&screen, ["日語 x"]) == "^[1;3H語")
        #expect(update(&screen, ["ab語 x"]) == "^[1;1Hab")
        #expect(update(&screen, ["a日語x"]) == "^[1;2H日語")
        let narrow = Screen.Size(width: 3, height: 1)
        #expect(update(&screen, ["日本"], narrow) == "^[0m^[2J^[1;1H日")
    }

    @Test(
        "the cells of a character of uncertain width are cleared first, and the cursor is moved behind it afterwards")
    func uncertain() {
        var screen = Screen()
        _ = update(&screen, [])
        #expect(update(&screen, ["👍🏽 up"]) == "^[1;1H  ^[1;1H👍🏽^[1;4Hup")
    }

    @Test("everything is drawn again after a new size, and after another program used the terminal")
    func again() {
        var screen = Screen()
        _ = update(&screen, ["Signed In"])
        #expect(update(&screen, ["Signed In"], Screen.Size(width: 6, height: 1)) == "^[0m^[2J^[1;1HSigned")
        screen.forget()
        #expect(update(&screen, ["db"], Screen.Size(width: 6, height: 1)) == "^[0m^[2J^[1;1Hdb")
    }

    @Test("control characters and other control sequences in a line are dropped")
    func controls() {
        var screen = Screen()
        #expect(update(&screen, ["a\u{1b}[2Jb\u{7}c\td"]) == "^[0m^[2J^[1;1Habcd")
    }
}
