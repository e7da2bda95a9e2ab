// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusSupport
import Testing

@testable import StatusCommands

// The strips of the last hours in top.
extension TopModelTests {
    @Test("the strips of the servers on the screen are read one after another, and shown if there is room")
    func strips() throws {
        var model = try model()
        let now = Timestamp(milliseconds: 5_400_000)
        #expect(!lines(99, 8, &model)[1].contains("LAST"))
        #expect(model.dueStrip(now: now) == nil)
        #expect(CellText.plain(lines(100, 8, &model)[1]).hasSuffix("SOURCE  LAST 12 H"))
        for number in 0..<5 {
            let request = try #require(model.dueStrip(now: now))
            #expect((request.server.name.rawValue, request.parts) == ("s\(number)", 12))
            #expect((request.since.milliseconds, request.until.milliseconds) == (-36_000_000, 7_200_000))
            let levels: [Level?] = [nil, .critical, .unknown] + Array(repeating: .ok, count: 9)
            model.strips.take(.levels(levels), to: request, now: now)
        }
        #expect(model.dueStrip(now: now) == nil)
        let shown = lines(100, 8, &model)
        #expect(CellText.plain(shown[2]).hasSuffix("  push     █▒▁▁▁▁▁▁▁▁▁"))
        let bar = try #require(shown.first { $0.hasPrefix("\u{1b}[7m") })
        #expect(bar.hasSuffix("\u{1b}[27m \u{1b}[31m█\u{1b}[0m\u{1b}[35m▒\u{1b}[0m\u{1b}[32m▁▁▁▁▁▁▁▁▁\u{1b}[0m"))
        _ = press([.end], &model)
        #expect(model.dueStrip(now: now)?.server.name.rawValue == "s5")
    }

    @Test("a strip is read again when the level changes, when a part is over, and when the daemon was away")
    func stripsAgain() throws {
        var model = try model()
        _ = lines(120, 8, &model)
        func read(_ time: Int64) -> [String] {
            let now = Timestamp(milliseconds: time)
            var names: [String] = []
            while let request = model.dueStrip(now: now), names.count < 20 {
                names.append(request.server.name.rawValue)
                model.strips.take(.levels(Array(repeating: .ok, count: request.parts)), to: request, now: now)
            }
            return names
        }
        let all = (0..<5).map { "s\($0)" }
        #expect(read(0) == all)
        apply(event(.changed, try server("s2", text: "only the text")), &model)
        #expect(read(5000) == [])
        _ = press([.character("o")], &model)
        apply(event(.changed, try server("s2", .critical)), &model)
        #expect(read(6000) == ["s2"])
        apply(event(.changed, try server("s2", .warning)), &model)
        #expect(read(6999) == [], "at most once a second")
        #expect(read(7000) == ["s2"])
        var again = try server("s2", .warning)
        again.status?.levelChangedAt = Timestamp(milliseconds: 8000)
        apply(event(.changed, again), &model)
        #expect(read(9000) == ["s2"], "another level in between")
        #expect(read(1_800_000) == all, "the next half hour")
        _ = lines(160, 8, &model)
        #expect(read(1_801_000) == all, "shorter parts")
        apply(.away("the daemon disconnected"), &model)
        #expect(read(1_802_000) == [])
        apply(.back(isFirst: false), &model)
        _ = lines(160, 8, &model)
        #expect(read(1_803_000) == all)
    }

    @Test("without a history there are no strips, until the daemon returns")
    func noStrips() throws {
        var model = try model()
        _ = lines(120, 8, &model)
        let now = Timestamp(milliseconds: 0)
        model.strips.take(.unavailable, to: try #require(model.dueStrip(now: now)), now: now)
        #expect(!lines(120, 8, &model)[1].contains("LAST"))
        #expect(model.dueStrip(now: now) == nil)
        apply(.away("the daemon disconnected"), &model)
        apply(.back(isFirst: false), &model)
        _ = lines(120, 8, &model)
        #expect(model.dueStrip(now: now) != nil)
    }
}
