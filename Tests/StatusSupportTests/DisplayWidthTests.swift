// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StatusSupport

@Suite("Text on terminals") struct DisplayWidthTests {
    @Test(
        "the display width is the number of columns that terminals need",
        arguments: [
            ("Signed In", 9), ("", 0), ("é", 1), ("e\u{301}", 1), ("日本", 4), ("ｱ", 1), ("한", 2),
            ("\u{1112}\u{1161}\u{11ab}", 2),
            ("🚀", 2), ("❤", 1), ("❤\u{FE0F}", 2), ("👍🏽", 2), ("👩‍👩‍👧‍👦", 2), ("🇩🇪", 2), ("🫨", 2), ("क्ष", 2),
            ("a\u{34F}b", 2), ("x\u{200B}y", 2),
        ])
    func width(_ text: String, _ columns: Int) { #expect(text.displayWidth == columns) }

    @Test("the width of emoji of several scalars is uncertain")
    func certainty() {
        #expect("Signed In, 日本 é 🚀".hasCertainWidth)
        for text in ["❤\u{FE0F}", "👍🏽", "👩‍👩‍👧‍👦", "🇩🇪"] { #expect(!text.hasCertainWidth) }
    }

    @Test("a text is cut between characters, and is never too wide")
    func cut() {
        #expect("Signed In".cut(to: 9) == "Signed In")
        #expect("Signed In".cut(to: 8, ellipsis: "…") == "Signed …")
        #expect("日本語".cut(to: 5, ellipsis: "…") == "日本…")
        #expect("日本語".cut(to: 4, ellipsis: "…") == "日…")
        #expect("日本語".cut(to: 1, ellipsis: "...") == "")
        #expect("abc".cut(to: 2, ellipsis: "...") == "ab")
        #expect("👩‍👩‍👧‍👦 in".cut(to: 3, ellipsis: "…") == "👩‍👩‍👧‍👦…")
    }

    @Test("a text is padded by columns, not by characters")
    func fitted() {
        #expect("日".fitted(to: 4) == "日  ")
        #expect("日本語".fitted(to: 4, ellipsis: "…") == "日… ")
        #expect("7 %".alignedRight(in: 5) == "  7 %")
    }

    @Test("a text is wrapped between words, and within words that are too long")
    func wrapped() {
        #expect("Signed In".wrapped(to: 9) == ["Signed In"])
        #expect("Signed In, 12 clients".wrapped(to: 10) == ["Signed In,", "12 clients"])
        #expect("日本語 ab".wrapped(to: 4) == ["日本", "語", "ab"])
        #expect("a abcdefgh b".wrapped(to: 3) == ["a", "abc", "def", "gh", "b"])
        #expect("".wrapped(to: 3) == [""])
    }
}
