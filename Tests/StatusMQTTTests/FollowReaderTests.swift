// SPDX-License-Identifier: Apache-2.0

import StatusConfiguration
import StatusModel
import Testing

@testable import StatusMQTT

@Suite("What other hosts say") struct FollowReaderTests {
    private func patterns(_ texts: String...) throws -> [FollowPattern] {
        try texts.map { try #require(FollowPattern($0)) }
    }

    private func reader(_ texts: String..., own: String = "hub") throws -> FollowReader {
        FollowReader(try texts.map { try #require(FollowPattern($0)) }, own: own)
    }

    private func read(
        _ reader: inout FollowReader, _ topic: String, _ payload: String, isRetained: Bool = true,
        now: Duration = .zero
    ) throws -> FollowReader.Outcome? {
        guard let parsed = Topic(topic) else { return nil }
        let message = IncomingMessage(topic: topic, payload: Array(payload.utf8), isRetained: isRetained)
        return reader.read(message, parsed, now: now, wall: Timestamp(milliseconds: 1000))
    }

    private let server = #"{"epoch":3,"name":"db","source":"unit","phase":"empty","revision":4,"new":[1]}"#
    private let ready =
        #"{"state":"ready","epoch":3,"machine":"00000000000000000000000000000000","at":"1970-01-01T00:00:03.000Z"}"#

    @Test("the filters are those of hosts, then those of servers; one for all hosts contains the others")
    func filters() throws {
        #expect(
            FollowReader.filters(for: try patterns("db@web1", "web2")) == [
                "statusd/1/web1/$state", "statusd/1/web2/$state", "statusd/1/web1/db", "statusd/1/web2/+",
            ])
        #expect(
            FollowReader.filters(for: try patterns("db*@*", "web2")) == ["statusd/1/+/$state", "statusd/1/+/+"])
        #expect(FollowReader.filters(for: []) == [])
    }

    @Test("a server is read and written anew; members that are not known are skipped")
    func servers() throws {
        var reader = try reader("db*@web*")
        guard
            case .report(.server(let host, let name, let epoch, let state))? =
                try read(&reader, "statusd/1/web2/db", server)
        else {
            Issue.record("no report")
            return
        }
        #expect((host.rawValue, name.rawValue, epoch, state?.revision) == ("web2", "db", 3, 4))
        #expect(try read(&reader, "statusd/1/web2/cache", server) == .ignored)
        #expect(try read(&reader, "statusd/1/lab/db", server) == .ignored)
        guard case .report(.server(_, _, _, nil))? = try read(&reader, "statusd/1/web2/db", "") else {
            Issue.record("not removed")
            return
        }
    }

    @Test("the difference of clocks is known only from live messages")
    func clocks() throws {
        var reader = try reader("web*")
        for (isRetained, difference) in [(true, nil), (false, 2000)] {
            guard
                case .report(.host(_, let presence, let found))? =
                    try read(&reader, "statusd/1/web2/$state", ready, isRetained: isRetained)
            else {
                Issue.record("no report")
                return
            }
            #expect((presence?.state, found) == (.ready, difference))
        }
    }

    @Test("this host is no news, and topics with invalid names are not read")
    func names() throws {
        var reader = try reader("*", own: "web1")
        #expect(try read(&reader, "statusd/1/web1/db", server) == .ignored)
        for topic in [
            "statusd/1/-a/db", "statusd/1/a/b/c", "statusd/1/a:b/db", "statusd/2/a/db", "statusd/1/a/",
            "statusd/1/a/$claims", "statusd/1/\(String(repeating: "a", count: 64))/db",
        ] { #expect(Topic(topic) == nil, "\(topic)") }
        let long = String(repeating: "a", count: 62)
        let payload = server.replacing("db", with: "dbs")
        guard case .refused? = try read(&reader, "statusd/1/\(long)/dbs", payload) else {
            Issue.record("too long a name was taken")
            return
        }
    }

    @Test(
        "what is too long or no status is refused",
        arguments: [
            ("$state", "{}"), ("$state", #"{"state":"ready","epoch":1,"machine":"x"}"#),
            ("$state", "\u{ff}{"), ("db", "[]"), ("db", #"{"name":"db","source":"a","phase":"empty"}"#),
            ("db", #"{"epoch":1,"name":"web","source":"a","phase":"empty","revision":1}"#),
            ("db", #"{"epoch":-1,"name":"db","source":"a","phase":"empty","revision":1}"#),
            ("db", #"{"epoch":9223372036854775807,"name":"db","source":"a","phase":"empty","revision":1}"#),
            (
                "$state",
                #"{"state":"ready","epoch":9223372036854775807,"machine":"00000000000000000000000000000000"}"#
            ),
            (
                "db",
                #"{"epoch":1,"name":"db","source":"a","phase":"empty","revision":1,"x":""#
                    + String(repeating: "a", count: 32 * 1024) + "\"}"
            ),
        ])
    func refused(leaf: String, payload: String) throws {
        var reader = try reader("*")
        guard case .refused(let host, _)? = try read(&reader, "statusd/1/web2/\(leaf)", payload) else {
            Issue.record("it was taken")
            return
        }
        #expect(host == "web2")
    }

    @Test(
        "a host may send 2048 messages at once and 50 a second; it is read again when it is quiet"
    )
    func rates() throws {
        var reader = try reader("*")
        var limited = 0
        for _ in 0..<3000 where try read(&reader, "statusd/1/web2/db", server) == .limited(host: "web2") {
            limited += 1
        }
        #expect(limited == 3000 - 2048)
        #expect(try read(&reader, "statusd/1/web3/db", server) != .limited(host: "web3"))
        #expect(reader.takeRecovered(now: .seconds(10)) == [])
        #expect(reader.takeRecovered(now: .seconds(21)) == ["web2"])
        #expect(reader.takeRecovered(now: .seconds(40)) == [])
        #expect(try read(&reader, "statusd/1/web2/db", server, now: .seconds(22)) != .limited(host: "web2"))
    }

    @Test("hosts that were read once and are quiet take no room from new ones")
    func manyHosts() throws {
        var reader = try reader("*")
        for number in 0..<65_536 { _ = try read(&reader, "statusd/1/invented\(number)/$state", "invalid") }
        guard case .refused? = try read(&reader, "statusd/1/web2/$state", ready) else {
            Issue.record("there is room without end")
            return
        }
        guard case .report? = try read(&reader, "statusd/1/web2/$state", ready, now: .seconds(2)) else {
            Issue.record("no room for a new host")
            return
        }
    }
}
