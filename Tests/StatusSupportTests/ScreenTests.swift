// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StatusSupport

@Suite("A screen") struct ScreenTests {
    private let size = Screen.Size(width: 20, height: 3)

    /// The output with readable escapes.
    private func update(_ screen: inout Screen, _ lines: [String], _ size: Screen.Size? = nil) -> String {
        screen.update(lines, size: size ?? self.size).replacing("\u{1b}", with: "^")
    }

    @Test("the first update clears the terminal and writes every line; repeating it writes nothing")
    func first() {
        var screen = Screen()
        #expect(update(&screen, ["Signed In", "", "ok"]) == "^[0m^[2J^[1;1H^[2KSigned In^[0m^[3;1H^[2Kok^[0m")
        #expect(update(&screen, ["Signed In", "", "ok"]) == "")
    }

    @Test("only changed lines are written, and a removed line becomes blank")
    func changes() {
        var screen = Screen()
        _ = update(&screen, ["db  Signed In", "web up"])
        #expect(update(&screen, ["db  Signed Out", "web up"]) == "^[1;1H^[2Kdb  Signed Out^[0m")
        #expect(update(&screen, ["db  Signed Out"]) == "^[2;1H^[2K^[0m")
    }

    @Test("everything is drawn again after a new size, and after another program used the terminal")
    func again() {
        var screen = Screen()
        _ = update(&screen, ["Signed In"])
        #expect(update(&screen, ["Signed In"], Screen.Size(width: 6, height: 1)) == "^[0m^[2J^[1;1H^[2KSigned In^[0m")
        screen.forget()
        #expect(update(&screen, ["db"], Screen.Size(width: 6, height: 1)) == "^[0m^[2J^[1;1H^[2Kdb^[0m")
    }
}
