// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StatusSupport

@Suite("The nearest word") struct NearestTests {
    @Test(
        "has the smallest difference, in at most a third of the letters",
        arguments: [
            ("dbb", "db"), ("bd", "db"), ("DB", "db"), ("weg", "web"), ("bakcup-homes", "backup-home"),
            ("wbe1", "web1"), ("login", nil), ("", nil), ("d", nil), ("backup", "backup-home"), ("ba", "backup-home"),
            ("w", nil),
            ("hist", "history"),
        ] as [(String, String?)])
    func nearest(word: String, expected: String?) {
        #expect(Nearest.word(near: word, among: ["db", "web", "web1", "backup-home", "list", "history"]) == expected)
    }

    @Test("a distance is counted up to its limit")
    func limit() {
        let (left, right) = (Array("kitten".utf8), Array("sitting".utf8))
        #expect(Nearest.distance(left, right, atMost: 3) == 3)
        #expect(Nearest.distance(left, right, atMost: 2) == nil)
        #expect(Nearest.distance([], right, atMost: 7) == 7)
        #expect(Nearest.distance(left, [], atMost: 5) == nil)
    }
}
