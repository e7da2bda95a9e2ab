// SPDX-License-Identifier: Apache-2.0

#if Web
import NIOCore
import StatusModel
import Testing

@testable import StatusWeb

@Suite("What the daemon has told") struct BoardTests {
    private let epoch = Epoch.random()
    private let db: ServerName
    private let web: ServerName

    init() throws {
        db = try #require(ServerName("db"))
        web = try #require(ServerName("web"))
    }

    private func state(_ name: ServerName, _ text: String, isSelected: Bool = false) -> ServerState {
        var state = ServerState(name: name, source: "push", phase: .loaded, message: text)
        state.isSelected = isSelected
        return state
    }

    private func event(_ kind: EventKind, _ revision: Int, _ state: ServerState? = nil) -> Event {
        Event(kind: kind, cursor: Cursor(epoch: epoch, revision: revision), server: state)
    }

    private func board() -> Board {
        var board = Board()
        let cursor = Cursor(epoch: epoch, revision: 3)
        let servers = [state(web, "a"), state(db, "b", isSelected: true)]
        board.begin(ShownServers(servers), at: cursor)
        return board
    }

    private func texts(_ board: Board, since revision: Int) -> [String]? {
        board.frames(since: Cursor(epoch: epoch, revision: revision))?.map { frame in
            // id: EPOCH.REVISION
            String(String(buffer: frame).prefix { $0 != "\n" }.split(separator: ".")[1])
        }
    }

    @Test("who has seen an event gets what came after it, and nothing of it again")
    func resumes() {
        var board = board()
        for revision in 4...6 {
            _ = board.take(event(.changed, revision, state(db, "\(revision)")))
        }
        _ = board.take(event(.alive, 6))
        #expect(texts(board, since: 3) == ["4", "5", "6"])
        #expect(texts(board, since: 5) == ["6"])
        #expect(texts(board, since: 6) == [])
    }

    @Test("before the first snapshot, after a gap, in the future, or of another log, nothing is known")
    func unknown() {
        var board = board()
        #expect(texts(Board(), since: 0) == nil)
        #expect(texts(board, since: 2) == nil)
        #expect(texts(board, since: 4) == nil)
        #expect(board.frames(since: Cursor(epoch: .random(), revision: 3)) == nil)
        _ = board.take(event(.changed, 4, state(db, "x")))
        _ = board.take(event(.gap, 9))
        #expect(texts(board, since: 4) == nil)
        #expect(texts(board, since: 9) == [])
    }

    @Test("old events are forgotten, and those who have seen less then need a snapshot")
    func forgets() {
        var board = board()
        for revision in 4..<(5 + Board.maximumEvents) {
            _ = board.take(event(.updated, revision, state(db, "x")))
        }
        #expect(texts(board, since: 3) == nil)
        #expect(texts(board, since: 4)?.count == Board.maximumEvents)
    }

    @Test("a switch deselects the server before; removed servers are gone, and others stay in the order of their names")
    func states() {
        var board = board()
        _ = board.take(event(.selected, 4, state(web, "a", isSelected: true)))
        #expect(board.snapshot?.servers?.map(\.name) == [db, web])
        #expect(board.snapshot?.servers?.map(\.isSelected) == [false, true])
        _ = board.take(event(.removed, 5, state(db, "b")))
        #expect(board.snapshot?.servers?.map(\.name) == [web])
        _ = board.take(event(.selected, 6))
        #expect(board.snapshot?.servers?.map(\.isSelected) == [false])
        #expect(board.snapshot?.cursor.revision == 6)
    }
}
#endif
