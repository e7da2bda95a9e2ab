// SPDX-License-Identifier: Apache-2.0

import StatusInterface
import StatusModel
import Testing
import Varlink

@testable import StatusMQTT

@Suite("What is published next") struct PublishMachineTests {
    private func state(_ name: String, _ text: String = "up", revision: Int = 1, source: String = "push") throws
        -> ServerState
    {
        var state = ServerState(name: try #require(ServerName(name)), source: source, phase: .loaded)
        let time = Timestamp(milliseconds: 0)
        state.status = Status(
            text: try StatusText(text), level: .ok, changedAt: time, levelChangedAt: time, updatedAt: time)
        state.revision = revision
        state.isSelected = true
        return state
    }

    private func event(_ kind: EventKind, _ server: ServerState? = nil, servers: [ServerState]? = nil) -> Event {
        Event(kind: kind, cursor: Cursor(epoch: .none, revision: 1), server: server, servers: servers)
    }

    private func machine(_ patterns: [String] = ["*"], kept: [String] = [], discovery: Discovery? = nil) throws
        -> PublishMachine
    {
        let kept = Set(try kept.map { try #require(ServerName($0)) })
        return PublishMachine(host: "web1", patterns: patterns, epoch: 7, kept: kept, discovery: discovery)
    }

    private func drain(_ machine: inout PublishMachine) -> [String] {
        var sent: [String] = []
        while let message = machine.next() {
            sent.append(message.topic.split(separator: "/").last.map(String.init) ?? "")
            if message.payload.isEmpty { sent[sent.count - 1] += "-" }
        }
        return sent
    }

    @Test("a server is published with the number of the connection in front, and is not selected elsewhere")
    func payload() throws {
        var machine = try machine()
        machine.take(event(.snapshot, servers: [try state("db")]))
        let next = machine.next()
        let message = try #require(next)
        #expect((message.topic, message.isRetained) == ("statusd/1/web1/db", true))
        let text = String(decoding: message.payload, as: UTF8.self)
        #expect(text.hasPrefix(#"{"epoch":7,"name":"db","#))
        #expect(text.contains(#""selected":false"#))
    }

    @Test("only the newest state of a server waits, in the order in which the servers changed")
    func newestOnly() throws {
        var machine = try machine()
        machine.take(event(.snapshot, servers: [try state("a"), try state("b")]))
        machine.take(event(.changed, try state("a", "down", revision: 2)))
        machine.take(event(.added, try state("c")))
        let next = machine.next()
        let first = try #require(next)
        #expect(String(decoding: first.payload, as: UTF8.self).contains("down"))
        #expect(drain(&machine) == ["b", "c"])
    }

    @Test("at most 128 messages are unacknowledged")
    func window() throws {
        var machine = try machine()
        machine.take(event(.snapshot, servers: try (0..<300).map { try state("s\($0)") }))
        #expect(drain(&machine).count == 128)
        for _ in 0..<10 { machine.acknowledged() }
        #expect(drain(&machine).count == 10)
    }

    @Test(
        "what the broker has beyond that is emptied, after the servers: of an earlier run, removed, or not to publish")
    func leftovers() throws {
        var machine = try machine(["d*"], kept: ["old", "db"])
        machine.heard(try #require(ServerName("cache")))
        #expect(drain(&machine) == [])
        machine.take(event(.snapshot, servers: [try state("db"), try state("cache")]))
        #expect(drain(&machine) == ["db", "cache-", "old-"])
        machine.heard(try #require(ServerName("db")))
        machine.heard(try #require(ServerName("late")))
        #expect(drain(&machine) == ["late-"])
        machine.take(event(.removed, try state("db")))
        #expect(drain(&machine) == ["db-"])
        machine.take(event(.added, try state("da")))
        // After a gap, the snapshot tells what is gone.
        machine.take(event(.snapshot, servers: []))
        #expect(drain(&machine) == ["da-"])
        #expect(machine.mayBeKept.isEmpty)
    }

    @Test("servers of other hosts are never published, and which server is selected is not either")
    func others() throws {
        var machine = try machine()
        machine.take(event(.snapshot, servers: [try state("db@web2", source: "mqtt")]))
        machine.take(event(.selected, try state("db")))
        #expect(drain(&machine) == [])
    }

    @Test("Home Assistant hears of a set of servers once; a removed one comes once without settings")
    func discovery() throws {
        let discovery = Discovery(machine: "m", version: "1")
        var machine = try machine(discovery: discovery)
        machine.take(event(.snapshot, servers: [try state("db"), try state("web")]))
        #expect(drain(&machine) == ["db", "web", "config"])
        machine.take(event(.changed, try state("db", revision: 2)))
        #expect(drain(&machine) == ["db"])
        machine.take(event(.removed, try state("web")))
        _ = machine.next()
        let next = machine.next()
        let message = try #require(next)
        #expect(message.topic == "homeassistant/device/statusd-web1/config")
        try JSONReader.read(message.payload) { reader throws(JSONError) in try reader.skip() }
        let text = String(decoding: message.payload, as: UTF8.self)
        #expect(text.contains(#""web":{"p":"sensor"}"#))
        #expect(text.contains(#""options":["ok","warning","critical","unknown"],"state_topic":"statusd/1/web1/db""#))
        machine.take(event(.removed, try state("db")))
        _ = machine.next()
        #expect(machine.next().map { String(decoding: $0.payload, as: UTF8.self).contains("web\":") } == false)
    }

    @Test("names that somebody invents are emptied after all servers, and not without bound")
    func invented() throws {
        var machine = try machine()
        machine.take(event(.snapshot, servers: []))
        for number in 0..<70_000 { machine.heard(try #require(ServerName("n\(number)"))) }
        machine.take(event(.added, try state("db")))
        #expect(machine.next()?.topic == "statusd/1/web1/db")
        var count = 0
        while machine.next() != nil {
            count += 1
            machine.acknowledged()
        }
        #expect(count == PublishMachine.mostLeftovers)
    }

    @Test("a message of another client is told from what this connection has published")
    func foreign() throws {
        var machine = try machine()
        let (db, other) = (try #require(ServerName("db")), try #require(ServerName("other")))
        #expect(!machine.isOvertaken(by: nil, for: db), "before the first snapshot")
        machine.take(event(.snapshot, servers: [try state("db", revision: 3), try state("web", revision: 5)]))
        for (epoch, revision, isForeign) in [(7, 3, false), (6, 99, false), (7, 4, true), (8, 1, true)] {
            let version = StateVersion(epoch: epoch, revision: revision)
            #expect(machine.isOvertaken(by: version, for: db) == isForeign, "\(version)")
            #expect(!machine.isOvertaken(by: version, for: other))
        }
        #expect(machine.isOvertaken(by: nil, for: db), "it is invalid")
    }
}
