// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusConfiguration
import StatusModel
import Testing

@Suite("The configuration of statusd-mqtt") struct MQTTConfigurationTests {
    private let folder: ConfigurationFolder

    init() throws { folder = try ConfigurationFolder() }

    private func load(_ section: String) throws -> LoadedConfiguration {
        try folder.write("mqtt: \(section)\nservers: { db: { push: true } }\n")
        return try folder.load()
    }

    private func settings(_ section: String) throws -> MQTTSettings {
        let loaded = try load(section)
        #expect(loaded.problems == [])
        return try #require(loaded.configuration.mqtt)
    }

    @Test("a broker is enough: then all servers are published, and none is followed")
    func defaults() throws {
        let settings = try settings("{ broker: mqtts://mq1.example }")
        #expect(settings.brokers.map(\.description) == ["mqtts://mq1.example:8883"])
        #expect((settings.host, settings.publish, settings.user) == (nil, ["*"], nil))
        #expect((settings.follow, settings.discovery) == ([], nil))
    }

    @Test("each key is read")
    func everyKey() throws {
        let settings = try settings(
            """
            { broker: [mqtt://127.0.0.1, "mqtts://[::1]:1884"], host: web1.example, publish: [web, "db*"],
              follow: ["db*@*", web2, "getty@tty1@lab"], user: web1, discovery: homeassistant }
            """)
        #expect(settings.brokers.map(\.authority) == ["127.0.0.1:1883", "[::1]:1884"])
        #expect(settings.brokers.map(\.usesTLS) == [false, true])
        #expect((settings.host, settings.publish, settings.user) == ("web1.example", ["web", "db*"], "web1"))
        #expect(settings.follow.map(\.description) == ["db*@*", "web2", "getty@tty1@lab"])
        #expect(settings.follow.last?.server == "getty@tty1")
        #expect(settings.discovery == .homeassistant)
    }

    @Test("an address of a broker can be written and read again", arguments: ["mqtt://a:1", "mqtts://[::1]:8883"])
    func roundTrip(text: String) { #expect(MQTTBroker(text)?.description == text) }

    @Test("publish may be all or false, and an empty section is none")
    func publishing() throws {
        #expect(try settings("{ broker: mqtt://a, publish: all }").publish == ["*"])
        #expect(try settings("{ broker: mqtt://a, publish: false, follow: [b] }").publish == [])
        #expect(try load("").configuration.mqtt == nil)
    }

    @Test("a pattern with an at sign names servers of hosts, and one without names hosts")
    func patterns() throws {
        let servers = try #require(FollowPattern("db*@web?"))
        #expect(servers.matches(server: "db-1", host: "web2"))
        #expect(!servers.matches(server: "cache", host: "web2"))
        #expect(!servers.matches(server: "db-1", host: "web10"))
        let host = try #require(FollowPattern("web*"))
        #expect(host.matches(server: "getty@tty1", host: "web1"))
        #expect(!host.matches(host: "lab"))
    }

    @Test(
        "a mistake is an error that says what to write",
        arguments: [
            ("[a]", "must be a mapping"), ("{ user: a }", "needs “broker”"),
            ("{ broker: [] }", "1 to 16 URLs"), ("{ broker: mq1 }", "URL of a broker"),
            ("{ broker: ws://mq1 }", "URL of a broker"), ("{ broker: mqtt://a:0 }", "port from 1 to 65535"),
            ("{ broker: mqtt://a:65536 }", "port from 1 to 65535"), ("{ broker: mqtt://a/b }", "URL of a broker"),
            ("{ broker: 'mqtt://[::g]' }", "URL of a broker"), ("{ broker: mqtt:// }", "URL of a broker"),
            ("{ broker: mqtt://me:secret@mq1 }", "must not contain a user; write “user: NAME”"),
            ("{ broker: mqtt://a, host: a/b }", "invalid host name “a/b”: it must start with a letter or digit"),
            ("{ broker: mqtt://a, host: a@b }", "invalid host name"),
            ("{ broker: mqtt://a, publish: some }", "all, false, or a list"),
            ("{ broker: mqtt://a, publish: [] }", "write false for none"),
            ("{ broker: mqtt://a, publish: [a/b] }", "invalid pattern “a/b” in “publish”"),
            ("{ broker: mqtt://a, follow: all }", "false, or a list of hosts"),
            ("{ broker: mqtt://a, follow: [a@] }", "invalid pattern “a@” in “follow”"),
            ("{ broker: mqtt://a, follow: ['a:b'] }", "invalid pattern “a:b”"),
            ("{ broker: mqtt://a, discovery: homie }", "must be homeassistant or false"),
        ])
    func mistakes(section: String, part: String) throws {
        let problem = #expect(throws: Problem.self) { try load(section) }
        #expect(problem?.reason.contains(part) == true, "\(problem?.reason ?? "")")
        #expect(problem?.reason.contains("secret") == false)
    }

    @Test("an unknown key disables the file, because the host could publish under another name")
    func unknownKey() throws {
        let problem = #expect(throws: Problem.self) { try load("{ broker: mqtt://a, brokers: b }") }
        #expect(problem?.reason == "unknown key “brokers” in “mqtt”; did you mean “broker”?")
    }

    @Test("a section that does nothing, or that replaces another one, is a warning")
    func warnings() throws {
        #expect(try load("{ broker: mqtt://a, publish: false }").problems.map(\.severity) == [.warning])
        #expect(try load("{ broker: mqtt://a, host: a, follow: [a, b] }").problems.map(\.severity) == [.warning])
        try folder.write("mqtt: { broker: mqtt://b }\n", to: "conf.d/b.yaml")
        let loaded = try load("{ broker: mqtt://a }")
        #expect(loaded.problems.map(\.severity) == [.warning])
        #expect(loaded.configuration.mqtt?.brokers.map(\.host) == ["b"])
    }
}
