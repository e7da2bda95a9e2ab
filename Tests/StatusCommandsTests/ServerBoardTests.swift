// SPDX-License-Identifier: Apache-2.0

import StatusModel
import Testing

@testable import StatusCommands

@Suite("All servers, as a stream shows them") struct ServerBoardTests {
    private func server(_ name: String, selected: Bool = false, revision: Int = 0) throws -> ServerState {
        var state = ServerState(name: try #require(ServerName(name)), source: "push", phase: .empty)
        (state.isSelected, state.revision) = (selected, revision)
        return state
    }

    private func event(_ kind: EventKind, _ server: ServerState? = nil, _ servers: [ServerState]? = nil) -> Event {
        Event(kind: kind, cursor: Cursor(epoch: .none, revision: 1), server: server, servers: servers)
    }

    private func apply(_ event: Event, _ board: inout ServerBoard) -> Bool { board.apply(event) }

    @Test("each event changes what it is about, and a snapshot replaces all")
    func events() throws {
        var board = ServerBoard()
        #expect(try apply(event(.snapshot, nil, [server("web"), server("db", selected: true)]), &board))
        #expect(board.servers.map(\.name.rawValue) == ["db", "web"])
        #expect(try apply(event(.added, server("app")), &board))
        #expect(try apply(event(.changed, server("web", revision: 7)), &board))
        #expect(board.servers.map(\.revision) == [0, 0, 7])
        #expect(try apply(event(.removed, server("app")), &board))
        #expect(board.servers.map(\.name.rawValue) == ["db", "web"])
        #expect(!apply(event(.alive), &board))
        #expect(try apply(event(.snapshot, nil, [server("new")]), &board))
        #expect(board.servers.map(\.name.rawValue) == ["new"])
    }

    @Test("at most one server is selected")
    func selection() throws {
        var board = ServerBoard()
        _ = try apply(event(.snapshot, nil, [server("a", selected: true), server("b")]), &board)
        _ = try apply(event(.selected, server("b", selected: true)), &board)
        #expect(board.servers.map(\.isSelected) == [false, true])
        _ = apply(event(.selected), &board)
        #expect(board.servers.map(\.isSelected) == [false, false])
    }
}
