// SPDX-License-Identifier: Apache-2.0

import StatusModel
import Testing

@testable import StatusDaemon

@Suite("The entries of the history that wait to be saved")
struct PendingHistoryTests {
    private var history = PendingHistory()
    private var revision = 0

    private mutating func change(_ server: String, _ kind: ChangeKind = .changed) throws {
        revision += 1
        let state = ServerState(name: try #require(ServerName(server)), source: "push", phase: .loaded)
        _ = history.add(
            RecordedChange(
                kind: kind, at: Timestamp(milliseconds: 0), revision: revision, snapshot: ServerSnapshot(state),
                caller: nil))
    }

    @Test("are in order, and the newest entry of a server with too many changes counts the others")
    mutating func chatty() throws {
        for _ in 1...100 { try change("chatty") }
        try change("quiet")
        try change("chatty", .removed)
        let entries = history.take().changes
        #expect(entries.map(\.revision) == Array(1...20) + [101, 102])
        #expect(entries.map(\.omitted).reduce(0, +) == 80)
        #expect(entries.last?.kind == .removed)
        #expect(history.take().changes.isEmpty)
    }

    @Test("are few, even if very many servers change, and include the newest change of each")
    mutating func many() throws {
        for _ in 1...10 {
            for number in 1...2000 { try change("server-\(number)") }
        }
        let entries = history.take().changes
        #expect(entries.count == 1024 + 2000)
        #expect(entries.reduce(0) { $0 + 1 + $1.omitted } == 20_000)
        #expect(entries.suffix(2000).map(\.revision) == Array(18_001...20_000))
        #expect(entries.map(\.revision) == entries.map(\.revision).sorted())
    }

    @Test("are taken back if they cannot be saved; if there are too many, the oldest are dropped and counted")
    mutating func failure() throws {
        for round in 1...5 {
            for number in 1...2000 { try change("server-\(number)") }
            let entries = history.take()
            history.putBack(entries)
            #expect(entries.changes.last?.revision == 2000 * round)
        }
        let dropped = history.dropped
        #expect(history.take().changes.count == 4096 && dropped == 10_000 - 4096)
        history.noteSaved()
        #expect(history.dropped == 0)
    }
}
