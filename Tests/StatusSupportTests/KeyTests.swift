// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StatusSupport

@Suite("Keys") struct KeyTests {
    @Test(
        "the bytes of terminals are decoded to keys",
        arguments: [
            ("j", [.character("j")]), ("\u{1b}[A", [.up]), ("\u{1b}OB", [.down]), ("\u{1b}[5~", [.pageUp]),
            ("\r", [.enter]), ("\u{7f}", [.backspace]), ("\u{3}", [.control("c")]),
            ("é日", [.character("é"), .character("日")]),
            ("\u{1b}[1;5C", [.right]),
            ("\u{1b}[<0;1;-9223372036854775808M\u{1b}[<0;9223372036854775807;1M", []),
            ("\u{1b}[<0;5;3M\u{1b}[<0;5;3m", [.click(row: 2, column: 4)]),
            ("\u{1b}[<64;1;1M\u{1b}[<65;1;1M", [.wheelUp, .wheelDown]), ("\u{1b}[200~", []),
            ("\u{1b}\u{1b}[A", [.escape, .up]),
            ("\u{1b}j", [.escape, .character("j")]),
        ] as [(String, [Key])])
    func keys(text: String, keys: [Key]) {
        var decoder = KeyDecoder()
        #expect(decoder.keys(Array(text.utf8)) == keys)
        var slow = KeyDecoder()
        #expect(text.utf8.flatMap { slow.keys([$0]) } == keys)
        #expect(!slow.isUndecided)
    }

    @Test("an escape byte is the escape key if nothing follows it")
    func escape() {
        var decoder = KeyDecoder()
        #expect(decoder.keys([0x1B]) == [])
        #expect(decoder.isUndecided)
        #expect(decoder.flush() == [.escape])
        #expect(decoder.keys(Array("[A".utf8)) == [.character("["), .character("A")])
    }

    @Test("invalid bytes are dropped, and the following keys are read")
    func junk() {
        var decoder = KeyDecoder()
        #expect(decoder.keys([0xFF, 0x00, 0xC3, 0x28, 0x6A]) == [.character("("), .character("j")])
        #expect(decoder.keys([0x1B, 0x5B] + Array(repeating: 0x30, count: 40)) == [])
        #expect(decoder.keys([0x6A]) == [.character("j")])
    }
}
