// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusConfiguration
import StatusModel
import Testing

@Suite("Templates of servers") struct TemplateTests {
    private let folder: ConfigurationFolder

    init() throws { folder = try ConfigurationFolder() }

    private func load(_ text: String) throws -> (servers: [String: ServerConfiguration], problems: [String]) {
        try folder.write(text, to: "conf.d/a.yaml")
        let loaded = try folder.load()
        let servers = loaded.configuration.servers.map { ($0.key.rawValue, $0.value) }
        let problems = loaded.problems.map { "\($0.origin.line ?? 0) \($0.server?.rawValue ?? "-"): \($0.reason)" }
        return (Dictionary(uniqueKeysWithValues: servers), problems)
    }

    @Test("each text makes a server, and stands in place of each {} in the values, also of lists and mappings")
    func expands() throws {
        let (servers, problems) = try load(
            """
            x-times: &times { interval: 1min, description: "The server {}" }
            servers:
              other: { push: true }
              template:
                - { for: [a, b], tcp: "{}.example:80", <<: *times }
                - for:
                    - x
                    - "1"
                  name: "disk-{}{}"
                  exec: [/check, "{}", "-p/{}/{}"]
            """)
        #expect(problems == [])
        #expect(servers.keys.sorted() == ["a", "b", "disk-11", "disk-xx", "other"])
        #expect(servers["b"]?.source == AnySourceSettings(TCPSettings(host: "b.example", port: 80)))
        #expect(servers["b"]?.description == "The server b")
        #expect(servers["b"]?.schedule.interval == .seconds(60))
        #expect(servers["disk-xx"]?.source == AnySourceSettings(ExecSettings(command: ["/check", "x", "-p/x/x"])))
        #expect(servers["disk-11"]?.origin.line == 8)
    }

    @Test("a server may be named template")
    func server() throws {
        let (servers, problems) = try load("servers: { template: { push: true } }")
        #expect(problems == [])
        #expect(servers.keys.sorted() == ["template"])
    }

    @Test("an error is reported for each server with its line, and a warning once")
    func problems() throws {
        let (servers, problems) = try load(
            """
            servers:
              template:
                for: [a, b]
                tcp: "{}:none"
              ok: { push: true, for: [a] }
            """)
        #expect(
            problems == [
                "4 a: “tcp” must be HOST:PORT, such as 127.0.0.1:6379 or [::1]:6379, with a port from 1 to 65535",
                "4 b: “tcp” must be HOST:PORT, such as 127.0.0.1:6379 or [::1]:6379, with a port from 1 to 65535",
                "5 ok: unknown key “for” is ignored; write “for” below “template”",
            ])
        #expect(servers["b"]?.failure != nil)
        #expect(
            try load("servers:\n  template: { for: [a, b], push: true, interval: 1s }").problems.map { $0.prefix(4) }
                == ["2 a:"])
    }

    @Test(
        "mistakes in a template disable the file, with their line",
        arguments: [
            ("{ name: 'x{}', push: true }", "2 -: a template needs “for”, a list of texts, such as [web1, web2]"),
            ("{ foreach: [a], tcp: \"{}:80\" }", "2 -: a template needs “for”, a list of texts, such as [web1, web2]"),
            ("[{ push: true }]", "2 -: a template needs “for”, a list of texts, such as [web1, web2]"),
            ("{ for: a, push: true }", "2 -: “for” must be a list of texts, such as [web1, web2]"),
            ("{ for: [], push: true }", "2 -: “for” must be a list of texts, such as [web1, web2]"),
            ("{ for: [a, ''], push: true }", "2 -: “for” must be a list of texts, such as [web1, web2]"),
            ("{ for: [a, [b]], push: true }", "2 -: each part of “for” must be text; quote it"),
            ("{ for: [a], name: x, push: true }", "2 -: “name” must contain {}, which stands for each part of “for”"),
            ("{ for: [a, b, a], push: true }", "2 -: duplicate server “a”, already in line 2"),
            ("{ for: [c], push: true }", "3 -: duplicate server “c”, already in line 2"),
            ("{ for: ['a b'], push: true }", "2 -: invalid server name “a b”: " + ServerName.rule),
            (
                "{ for: [a, b], tcp: \"web1:80\" }",
                "2 -: no value of the template contains {} in quotes, so all of its servers would be the same"
            ),
        ])
    func mistakes(_ template: String, _ problem: String) throws {
        #expect(try load("servers:\n  template: \(template)\n  c: { push: true }").problems.first == problem)
    }

    @Test("the entries of a file are bounded")
    func bounded() throws {
        let items = (0..<9).map { String(repeating: "\($0)", count: 10_000) }.joined(separator: ", ")
        let text = String(repeating: "{}", count: 100)
        let (servers, problems) = try load("servers: { template: { for: [\(items)], exec: [/a, '\(text)'] } }")
        #expect(problems == ["1 -: the templates of this file make more than 8 MiB of entries; use fewer"])
        #expect(servers.isEmpty)
    }
}
