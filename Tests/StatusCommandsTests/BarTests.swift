// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StatusCommands

@Suite("Lines for status bars") struct BarTests {
    private func line(_ format: BarFormat, _ text: String, _ state: String, _ details: [String] = []) -> String {
        format.line(BarFormat.Content(text: format.escape(text), state: state, details: details))
    }

    @Test("Waybar gets an object whose text and tooltip are escaped for Pango")
    func waybar() {
        #expect(
            line(.waybar, "db: a<b & c", "warning", ["db: a<b & c", "  Level: \"x\""])
                == #"{"text":"db: a&lt;b &amp; c","alt":"warning","#
                + #""tooltip":"db: a&lt;b &amp; c\n  Level: &quot;x&quot;","class":"warning","percentage":66}"#)
    }

    @Test("i3blocks gets an object with a colour, unless the server is ok")
    func i3blocks() {
        #expect(line(.i3blocks, "db: a<b & c", "ok") == #"{"full_text":"db: a<b & c"}"#)
        #expect(line(.i3blocks, "db: x", "critical") == ##"{"full_text":"db: x","color":"#e01b24"}"##)
    }

    @Test(
        "i3blocks gets no quotation mark or backslash in a text, and no more than it can take; the last level stays"
    )
    func longTexts() {
        #expect(line(.i3blocks, #"db: "a" \ b"#, "ok") == #"{"full_text":"db: ”a” ⧵ b"}"#)
        for character in ["\\", "\"", "é", "x", "👨‍👩‍👧"] {
            let text = "db: " + String(repeating: character, count: 1024 / character.utf8.count) + " [critical]"
            let line = line(.i3blocks, text, "critical")
            #expect(line.utf8.count < 1100)
            #expect(line.contains(#"…"#) == (text.utf8.count > 1000 || character == "\\"))
            #expect(line.hasPrefix(#"{"full_text":"db: "#))
            #expect(line.contains(#" [critical]","color""#))
        }
    }

    @Test("text cannot become a tag of polybar or a style of tmux")
    func tags() {
        #expect(line(.polybar, "db: %{F#f00}50 %", "ok") == "db: %\u{200B}\u{200B}{F#f00}50 %\u{200B}")
        #expect(line(.polybar, "db: x", "failed") == "%{F#e01b24}db: x%{F-}")
        #expect(line(.tmux, "db: #[fg=red]#(reboot)", "ok") == "db: ####\u{200B}[fg=red]####\u{200B}(reboot)")
        #expect(line(.tmux, "db: x", "stale") == "#[fg=#9141ac]db: x#[default]")
        #expect(line(.plain, "db: %{#[&<", "critical") == "db: %{#[&<")
    }

    @Test("a field cannot form a tmux format with the text before it")
    func fields() {
        let text = "X#" + BarFormat.tmux.escapeField("[bg=green]{host}")
        #expect(!text.unicodeScalars.map(String.init).joined(separator: "|").contains("#|["))
        #expect(text == "X#\u{200B}[bg=green]{host}")
        #expect(BarFormat.plain.escapeField("#[x]") == "#[x]")
    }

    @Test("a scalar that combines with a special character does not hide it")
    func combining() {
        for (before, after) in [("\u{600}", ""), ("", "\u{301}")] {
            let text =
                "\(before)%\(after){A1:x:} \(before)%{A1:x:} \(before)#\(after)[x] "
                + "\(before)<\(after)b> \(before)&\(after)"
            #expect(!line(.polybar, text, "ok").unicodeScalars.map(String.init).joined(separator: "|").contains("%|{"))
            #expect(line(.tmux, text, "ok").unicodeScalars.count { $0 == "#" } == 4)
            let pango = BarFormat.waybar.escape(text).unicodeScalars
            #expect(pango.count { $0 == "<" } == 0)
            #expect(pango.count { $0 == "&" } == 3)
        }
    }

    @Test("all states but ok have a colour, and a percentage that is lower if they are worse")
    func percentages() {
        let states = ["ok", "warning", "unknown", "critical", "disconnected"]
        let percentages = states.map { state in
            line(.waybar, "", state).split(separator: #""percentage":"#).last.flatMap { Int($0.dropLast()) } ?? -1
        }
        #expect(percentages == [100, 66, 33, 0, 0])
        #expect(states.dropFirst().allSatisfy { line(.i3blocks, "", $0).contains("color") })
    }
}
