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

    @Test("each event changes its own server, and a snapshot replaces all")
    func events() throws {
        var board = ServerBoard()
        try board.apply(event(.snapshot, nil, [server("web"), server("db", selected: true)]))
        #expect(board.servers.map(\.name.rawValue) == ["db", "web"])
        try board.apply(event(.added, server("app")))
        try board.apply(event(.changed, server("web", revision: 7)))
        #expect(board.servers.map(\.revision) == [0, 0, 7])
        try board.apply(event(.removed, server("app")))
        #expect(board.servers.map(\.name.rawValue) == ["db", "web"])
        board.apply(event(.alive))
        try board.apply(event(.snapshot, nil, [server("new")]))
        #expect(board.servers.map(\.name.rawValue) == ["new"])
    }

    @Test("a peer that names servers without end does not fill the memory")
    func limit() throws {
        var board = ServerBoard(limit: 3)
        for name in ["c", "a", "d", "b"] { try board.apply(event(.added, server(name))) }
        #expect(board.servers.map(\.name.rawValue) == ["a", "c", "d"])
        try board.apply(event(.changed, server("c", revision: 2)))
        #expect(board.servers.map(\.revision) == [0, 2, 0])
        try board.apply(event(.selected, server("b", selected: true)))
        try board.apply(event(.removed, server("c")))
        try board.apply(event(.added, server("b")))
        #expect(board.servers.map(\.name.rawValue) == ["a", "b", "d"])
        try board.apply(event(.snapshot, nil, ["e", "f", "g", "h"].map { try server($0) }))
        #expect(board.servers.map(\.name.rawValue) == ["e", "f", "g"])
    }

    @Test("at most one server is selected")
    func selection() throws {
        var board = ServerBoard()
        try board.apply(event(.snapshot, nil, [server("a", selected: true), server("b")]))
        try board.apply(event(.selected, server("b", selected: true)))
        #expect(board.servers.map(\.isSelected) == [false, true])
        board.apply(event(.selected))
        #expect(board.servers.map(\.isSelected) == [false, false])
    }
}
