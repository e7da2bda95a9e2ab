// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusAlerts
import StatusConfiguration
import StatusModel
import Testing

@Suite("The configuration of alerts") struct AlertConfigurationTests {
    private let folder: ConfigurationFolder

    init() throws { folder = try ConfigurationFolder() }

    private func load(_ text: String) throws -> LoadedConfiguration {
        try folder.write(text)
        return try folder.load()
    }

    @Test("a receiver has a program, and defaults for everything else")
    func receivers() throws {
        let loaded = try load(
            """
            alerts:
              mail: { run: [/bin/mail, root] }
              phone:
                run: [/bin/phone]
                levels: [critical]
                batch: 0s
                repeat: 4h
                servers: ["d*"]
                timeout: 1min
                credentials: [ntfy]
            servers: { db: { push: true } }
            """)
        #expect(loaded.problems.isEmpty)
        let mail = try #require(loaded.configuration.receivers["mail"])
        #expect(mail.command == ["/bin/mail", "root"])
        #expect(mail.settings == AlertReceiver())
        #expect(mail.timeout == .seconds(30))
        let phone = try #require(loaded.configuration.receivers["phone"])
        #expect((phone.settings.levels, phone.settings.batch) == ([.critical], .zero))
        #expect((phone.settings.repetition, phone.settings.servers) == (.seconds(4 * 3600), ["d*"]))
        #expect((phone.timeout, phone.credentials) == (.seconds(60), ["ntfy"]))
    }

    @Test("a server's options take precedence over the defaults, one by one")
    func rules() throws {
        let servers = try load(
            """
            defaults: { alert: { after: 1min, clear: 2min } }
            servers:
              router: { tcp: "10.0.0.1:22" }
              web: { push: true, parent: router, alert: { after: 5s } }
              lab: { push: true, alert: false }
            """
        ).configuration.servers
        func rule(_ name: String) throws -> AlertRule {
            let name = try #require(ServerName(name))
            return try #require(servers[name]).alert
        }
        #expect(try (rule("router").after, rule("router").clear) == (.seconds(60), .seconds(120)))
        #expect(try rule("router").isChecked)
        #expect(try (rule("web").after, rule("web").clear) == (.seconds(5), .seconds(120)))
        #expect(try (rule("web").parent?.rawValue, rule("web").isChecked) == ("router", false))
        #expect(try (rule("lab").isOn, rule("web").isOn) == (false, true))
    }

    @Test(
        "a mistake is an error that says what to write",
        arguments: [
            ("alerts: { run: [/bin/mail] }", "“run” belongs to a receiver with a name: alerts: { mail: { run: … } }"),
            ("alerts: { mail: [/bin/mail] }", "“mail” must be a mapping such as “{ run: [/usr/bin/program] }”"),
            ("alerts: { mail: {} }", "“mail” needs “run”, the program that tells people"),
            ("alerts: { mail: { run: [mail] } }", "“run” must be a list of the absolute path of a program"),
            (
                "alerts: { mail: { run: [/m], levels: [ok] } }",
                "“levels” must be a list of warning, critical and unknown"
            ),
            ("alerts: { 'a b': { run: [/m] } }", "invalid name “a b” of a receiver: it must start with a letter"),
            ("alerts: { mail: { run: [/m], credentials: [a/b] } }", "invalid name “a/b” in “credentials”"),
            ("servers: { a: { push: true, alert: { afte: 1 } } }", "unknown key “afte” in “alert”; known keys are"),
            ("servers: { a: { push: true, parent: b } }", "“parent: b” names a server that is not configured"),
            (
                "servers: { a: { push: true, parent: b }, b: { push: true, parent: a } }",
                "“parent” goes in a circle: a, b, a"
            ),
        ])
    func errors(_ text: String, _ reason: String) throws {
        try folder.write(text)
        let problems: [String]
        do {
            problems = try folder.load().errors.map(\.reason)
        } catch {
            problems = ["\(error)"]
        }
        #expect(problems.contains { $0.contains(reason) }, "\(problems)")
    }

    @Test("a receiver of no server, or that replaces another one, is a warning")
    func warnings() throws {
        try folder.write("alerts: { mail: { run: [/m] } }\n", to: "conf.d/a.yaml")
        try folder.write("alerts: { mail: { run: [/n], servers: [db, web, \"x*\"] } }\n", to: "conf.d/b.yaml")
        let loaded = try load("servers: { db: { push: true } }\n")
        #expect(
            loaded.problems.map(\.reason) == [
                "the receiver mail replaces the one at \(folder.path)/conf.d/a.yaml:1; remove one of them",
                "no server is configured that matches “web”, “x*” in “servers” of the receiver mail",
            ])
        #expect(loaded.configuration.receivers["mail"]?.command == ["/n"])
        try folder.write("accept: any\n", to: "conf.d/c.yaml")
        #expect(try folder.load().problems.count == 1)
    }
}
