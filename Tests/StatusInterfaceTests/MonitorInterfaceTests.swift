// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import FoundationEssentials
import StatusInterface
import StatusModel
import Testing
import Varlink

@Suite("The control interface") struct MonitorInterfaceTests {
    @Test("the enumerations match the model, and org.statusd.monitor(7) has each method, event and error")
    func description() throws {
        let description = try InterfaceDescription(parsing: MonitorInterface.text)
        #expect(description.name == MonitorInterface.name)
        let page = try String(
            contentsOfFile: #filePath.replacing(
                /Tests.StatusInterfaceTests.*/, with: "packaging/man/org.statusd.monitor.7.md"), encoding: .utf8)
        let errors = description.members.filter { if case .error = $0.kind { true } else { false } }
        #expect(description.methods.count >= 9 && errors.count >= 10)
        for name in description.methods.map(\.name) + errors.map(\.name) {
            #expect(page.contains("\n| `\(name)` |"), "\(name)")
        }
        for event in EventKind.allCases { #expect(page.contains("`\(event.rawValue)`"), "\(event)") }
        func names(_ type: String) -> [String] {
            guard case .type(.enumeration(let names)) = description.members.first(where: { $0.name == type })?.kind
            else {
                return []
            }
            return names
        }
        #expect(names("Level") == Level.allCases.map(\.rawValue))
        #expect(names("Phase") == Phase.allCases.map(\.rawValue))
        #expect(names("EventKind") == EventKind.allCases.map(\.rawValue))
    }

    @Test("structures are written with the described members, and read back unchanged")
    func structures() throws {
        let server = try Self.server()
        let event = Event(
            kind: .snapshot, cursor: Cursor(epoch: .random(), revision: 9), server: server, servers: [server],
            continues: true, missed: 3)
        try expectDescribed("Event", event)
        try expectDescribed("Cursor", event.cursor)
        try expectDescribed("Server", server)
        try expectDescribed("Status", try #require(server.status))
        try expectDescribed("Value", try #require(server.values.first))
        try expectDescribed("Silenced", try #require(server.silence))
        try expectDescribed("Failure", MonitorInterface.Failure(file: "/etc/f", line: 1, server: "db", reason: "r"))
    }

    /// A server in which no member has its default value.
    private static func server() throws -> ServerState {
        let name = try #require(ServerName("db"))
        var state = ServerState(name: name, description: "Primary", source: "push", phase: .loaded, message: "m")
        state.status = Status(
            text: try StatusText("a \"quoted\" ☃ text"), level: .warning, changedAt: Timestamp(milliseconds: 2),
            levelChangedAt: Timestamp(milliseconds: 1), updatedAt: Timestamp(milliseconds: 3))
        state.values = [MeasuredValue("used", 71.5, "%", warning: 85, critical: 95)]
        (state.group, state.parent) = (ServerName("databases"), ServerName("router"))
        (state.isStale, state.isRefreshable, state.isRefreshing, state.isSelected) = (true, true, true, true)
        state.isRestored = true
        state.revision = 7
        state.silence = Silence(
            since: Timestamp(milliseconds: 8), until: Timestamp(milliseconds: 9), user: 1000, reason: "disks")
        state.check = CheckRun(
            command: ["/p", "-w"], startedAt: Timestamp(milliseconds: 4), milliseconds: 5,
            next: Timestamp(milliseconds: 6),
            output: PluginOutput(output: "OK | a=1\nmore", errors: "e", exitStatus: 0),
            unit: "db.service")
        return state
    }

    private func expectDescribed<Value: JSONReadable & JSONWritable & Equatable>(
        _ type: String, _ value: Value
    ) throws {
        var writer = JSONWriter()
        writer.value(value)
        let bytes = writer.bytes
        let read = try JSONReader.read(bytes) { reader throws(JSONError) in try Value(from: &reader) }
        #expect(read == value)
        var names: [String] = []
        try JSONReader.read(bytes) { reader throws(JSONError) in
            try reader.object { name, reader throws(JSONError) in
                names.append("\(name)")
                try reader.skip()
            }
        }
        let description = try InterfaceDescription(parsing: MonitorInterface.text)
        guard case .type(.structure(let fields)) = description.members.first(where: { $0.name == type })?.kind else {
            Issue.record("\(type) is not described")
            return
        }
        #expect(names == fields.map(\.name))
    }

    @Test(
        "an error names a parameter that is unknown, missing or of the wrong type",
        arguments: [
            (#"{"server":"db"}"#, "text"), (#"{"text":"x"}"#, "server"), (#"{"server":"db","text":1}"#, "text"),
            (#"{"server":"a b","text":"x"}"#, "server"), (#"{"server":"db","text":"x","level":"bad"}"#, "level"),
            (#"{"server":"db","text":"x","colour":"red"}"#, "colour"),
        ])
    func faults(_ json: String, _ member: String) {
        let error = #expect(throws: JSONError.self) {
            try JSONReader.read(Array(json.utf8)) { reader throws(JSONError) in
                try MonitorInterface.PostParameters(from: &reader)
            }
        }
        #expect(error?.member == member)
    }
}

@Suite("The daemon's address") struct MonitorAddressTests {
    @Test(
        "the variable has priority, then the user's daemon, then the system's daemon; RUNTIME_DIRECTORY is ignored")
    func standard() throws {
        func address(_ environment: [String: String], isRoot: Bool = false, exists: [String] = []) throws -> String {
            try MonitorAddress.standard(environment: environment, isRoot: isRoot) { exists.contains($0) }.description
        }
        let system = "/run/statusd/org.statusd.monitor"
        #expect(try address(["STATUSD_ADDRESS": "unix:/x", "XDG_RUNTIME_DIR": "/u"]) == "unix:/x")
        #expect(try address(["RUNTIME_DIRECTORY": "/r"], isRoot: true) == "unix:" + system)
        #expect(try address(["XDG_RUNTIME_DIR": "/u"], isRoot: true) == "unix:" + system)
        #expect(try address(["XDG_RUNTIME_DIR": "/u"]) == "unix:" + system)
        #expect(try address(["XDG_RUNTIME_DIR": "/u"], exists: [system]) == "unix:" + system)
        #expect(
            try address(["XDG_RUNTIME_DIR": "/u"], exists: [system, "/u/statusd"])
                == "unix:/u/statusd/org.statusd.monitor")
        // Relative paths are ignored (XDG Base Directory Specification).
        #expect(try address(["XDG_RUNTIME_DIR": "u"], exists: [system, "u/statusd"]) == "unix:" + system)
        #expect(try address([:]) == "unix:" + system)
        #expect(try address(["STATUSD_ADDRESS": ""]) == "unix:" + system)
    }

    @Test("the values of a peer that is not statusd cannot overflow a sum or use much memory")
    func hostilePeer() throws {
        for (member, value) in [("ok", "9223372036854775807"), ("none", "-1"), ("critical", "1125899906842625")] {
            #expect(throws: JSONError.self) {
                try JSONReader.read(Array(#"{"\#(member)":\#(value)}"#.utf8)) { reader throws(JSONError) in
                    try LevelTimes(from: &reader)
                }
            }
        }
        let change = #"{"kind":"started","at":"2026-11-26T14:54:15.000Z","lasted":9223372036854775807}"#
        #expect(throws: JSONError.self) {
            try JSONReader.read(Array(change.utf8)) { reader throws(JSONError) in try Change(from: &reader) }
        }
        let text = String(repeating: "é", count: 100_000)
        let server = #"{"name":"db","source":"push","phase":"empty","description":"\#(text)"}"#
        let state = try JSONReader.read(Array(server.utf8)) { reader throws(JSONError) in
            try ServerState(from: &reader)
        }
        #expect(state.description == String(repeating: "é", count: 2048) + "…")
    }

    @Test("a client that must not start the daemon uses the live socket if there is one")
    func live() {
        func socket(_ address: UnixAddress, mayStart: Bool, exists: [String] = []) -> String {
            MonitorAddress.socket(of: address, mayStart: mayStart) { exists.contains($0) }.description
        }
        #expect(socket(.path("/s"), mayStart: true, exists: ["/s.live"]) == "unix:/s")
        #expect(socket(.path("/s"), mayStart: false, exists: ["/s.live"]) == "unix:/s.live")
        // There is no live socket: the daemon has ended, or listens by itself.
        #expect(socket(.path("/s"), mayStart: false) == "unix:/s")
        #expect(socket(.abstract("s"), mayStart: true) == "unix:@s")
    }
}
