// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusConfiguration
import StatusModel
import Testing

@Suite("The options of sources") struct SourceOptionsTests {
    private let folder: ConfigurationFolder

    init() throws { folder = try ConfigurationFolder() }

    private func load(_ text: String) throws -> (servers: [String: ServerConfiguration], problems: [Problem]) {
        try folder.write(text)
        let loaded = try folder.load()
        let servers = loaded.configuration.servers.map { ($0.key.rawValue, $0.value) }
        return (Dictionary(uniqueKeysWithValues: servers), loaded.problems)
    }

    @Test("source, schedule and time to live are read")
    func reads() throws {
        let (servers, problems) = try load(
            """
            servers:
              db: { unit: postgresql }
              disk: { exec: [/bin/check], interval: 5min, timeout: 1min, failures: 2, successes: 3 }
              cache: { tcp: "[::1]:6379", ttl: 1h 30min }
            """)
        #expect(problems == [])
        #expect(servers["db"]?.source == AnySourceSettings(UnitSettings(unit: "postgresql.service")))
        #expect(servers["disk"]?.source == AnySourceSettings(ExecSettings(command: ["/bin/check"])))
        #expect(
            servers["disk"]?.schedule
                == CheckSchedule(interval: .seconds(300), timeout: .seconds(60), failures: 2, successes: 3))
        #expect(servers["cache"]?.source == AnySourceSettings(TCPSettings(host: "::1", port: 6379)))
        #expect(servers["cache"]?.timeToLive == .seconds(5400))
    }

    @Test("defaults apply to servers of all files; later files override earlier ones; a server's options override all")
    func defaults() throws {
        try folder.write(
            "defaults: { interval: 1h, ttl: 2h }\nservers: { a: { exec: [/a] } }", to: "conf.d/a.yaml")
        let (servers, problems) = try load(
            "defaults: { interval: 1min, timeout: 3s, failures: 4 }\n"
                + "servers: { b: { exec: [/b], timeout: 1s }, c: { unit: c } }")
        #expect(problems == [])
        #expect(servers["a"]?.schedule.interval == .seconds(3600))
        #expect(servers["a"]?.schedule.timeout == .seconds(3))
        #expect(servers["b"]?.schedule.interval == .seconds(3600))
        #expect(servers["b"]?.schedule.timeout == .seconds(1))
        #expect(servers["b"]?.schedule.failures == 4)
        #expect(servers["b"]?.timeToLive == .seconds(7200))
        #expect(servers["c"]?.timeToLive == nil)
    }

    @Test("errors of a server that a later file replaces are not reported, however many there are")
    func replaced() throws {
        try folder.write("servers: { web: { push: true } }", to: "conf.d/a.yaml")
        let (_, problems) = try load(
            "servers: { web: { ttl: long, http: { url: localhost, method: get, redirects: many } } }")
        #expect(problems.filter { $0.severity == .error } == [])
    }

    @Test("changed defaults do not change a server whose source ignores them")
    func unusedDefaults() throws {
        let server = "servers: { a: { push: true }, b: { exec: [/b] } }"
        let (before, _) = try load("defaults: { interval: 1h, failures: 2, runtime: 1h }\n\(server)")
        let (after, _) = try load("defaults: { interval: 2h, failures: 3, runtime: 2h }\n\(server)")
        #expect(before["a"] == after["a"])
        #expect(before["b"] != after["b"])
    }

    @Test(
        "an error in an option disables its server, and is reported with its line",
        arguments: [
            "push: db", "unit: a/b", "exec: []", "tcp: 6379", "http: { url: a }",
            "exec: [/a], interval: never", "exec: [/a], interval: 1ms", "exec: [/a], interval: -1s",
            "exec: [/a], timeout: 0", "exec: [/a], failures: 0", "exec: [/a], successes: many",
            "push: true, ttl: 1 fortnight", "push: true, unit: a", "exec: [/a], tcp: 'a:1'", "unit: false, ttl",
        ])
    func mistakes(_ option: String) throws {
        let (servers, problems) = try load("servers:\n  good: { push: true }\n  bad:\n    { \(option) }\n")
        #expect(problems.filter { $0.severity == .error }.map(\.origin.line) == [4])
        #expect(problems.first?.server?.rawValue == "bad")
        #expect(servers["bad"]?.failure?.contains("statusd.yaml:4: ") == true)
        #expect(servers["good"]?.failure == nil)
    }

    @Test("all errors in a list or in the header fields are reported")
    func severalMistakes() throws {
        let (_, problems) = try load(
            "servers:\n  bad:\n    http:\n      url: http://a\n      status: [1, 200, two]\n"
                + "      headers:\n        a b: c\n        d: [e]\n")
        #expect(problems.map(\.origin.line) == [5, 5, 7, 8])
    }

    @Test(
        "text after a key's colon without a space is not shown, because it may be a secret",
        arguments: [
            "http: { url: http://a, headers: { 'Authorization:Basic c2Vj': } }",
            "http: { url: http://a, headers: { 'Authorization Basic c2Vj': } }",
            "http: { url: http://a, 'Authorization:Basic c2Vj': x }", "push: true, 'password:c2Vj': x",
            "notify: { 'users:c2Vj': x }", "unit: 'http://u:c2Vj@h/'", "http: 'http://c2Vj\u{e9}/'",
            "exec: [/a], 'interval:c2Vj': x",
        ])
    func secrets(_ option: String) throws {
        let (servers, problems) = try load("servers: { bad: { \(option) } }\n")
        #expect(problems.count == 1)
        #expect(!problems.contains { "\($0)".contains("c2Vj") })
        #expect(servers["bad"]?.failure?.contains("c2Vj") != true)
        let wrong = #expect(throws: Problem.self) { try load("servers: { 'db:http://u:c2Vj@h/': { push: true } }\n") }
        #expect(wrong?.reason.hasPrefix("invalid server name “db:…”") == true)
    }

    @Test(
        "an option that its source ignores is a warning with its line",
        arguments: [
            "push: true\n    interval: 1s", "notify: true\n    failures: 3", "unit: a\n    ttl: 1s",
            "tcp: 'a:1'\n    runtime: 1s",
        ])
    func meaningless(_ options: String) throws {
        let (servers, problems) = try load("servers:\n  a:\n    \(options)\n")
        #expect(problems.map(\.severity) == [.warning])
        #expect(problems.map(\.origin.line) == [4])
        #expect(servers["a"]?.failure == nil)
    }

    @Test("a ttl that makes a status stale before the next check is a warning")
    func staleBetweenLoads() throws {
        let (_, problems) = try load("servers:\n  a: { exec: [/a], interval: 1min, ttl: 1min }\n")
        #expect(problems.map(\.severity) == [.warning])
        #expect(problems.map(\.origin.line) == [2])
    }

    @Test(
        "a valid value that does not mean what it seems to is a warning that says what will happen",
        arguments: [
            (
                "exec: [/p/check_load, -w, 5,4,3, -c, \"10,8,6\"]",
                "“5,4,3” is 3 arguments, the first of which is “5”; write \"5,4,3\" in quotes if it is one"
            ),
            (
                "exec: [/p/check_disk, --warning=5, -c, 10%,5%]",
                "“10%,5%” is 2 arguments, the first of which is “10%”; write \"10%,5%\" in quotes if it is one"
            ),
            (
                "exec: [/p/check_mail, '|', grep, x]",
                "the plugin gets “|” as it is, because no shell runs it; write [/bin/sh, -c, \"…\"] if a shell should"
            ),
            (
                "exec: [/p/check, $HOME/x]",
                "the plugin gets “$HOME/x” as it is, because no shell runs it; "
                    + "write [/bin/sh, -c, \"…\"] if a shell should"
            ),
            (
                "file: { path: \"/x/{a,b}.flag\", exists: false }",
                "“{a,b}” in “path” stands for itself; the only patterns are *, ? and […] of glob(7)"
            ),
            (
                "file: /x/$HOST/flag",
                "“$HOST” in “file” stands for itself; the only patterns are *, ? and […] of glob(7)"
            ),
            (
                "exec: [/p/check_disk, -X, tmpfs,devtmpfs]",
                "“tmpfs,devtmpfs” is 2 arguments, the first of which is “tmpfs”; write \"tmpfs,devtmpfs\" in quotes "
                    + "if it is one"
            ),
            (
                "exec: [/p/check_tcp, -H 127.0.0.1]",
                "“-H 127.0.0.1” is one argument; write -H, 127.0.0.1, or quote it if it is one"
            ),
            (
                "exec: [/bin/echo, “hi”]",
                "the quotes of “hi” are part of the argument; write straight ones, \" or '"
            ),
            (
                "file: { path: /srv/**/flag, exists: false }",
                "“**” in “path” means “*” and does not go into folders below; write a pattern for each depth"
            ),
            (
                "file: /srv/db-%Y.dump",
                "“db-%Y.dump” in “file” stands for itself; the only patterns are *, ? and […] of glob(7)"
            ),
            (
                "file: \"/srv/db-$(date +%F).dump\"",
                "“db-$(date +%F).dump” in “file” stands for itself; the only patterns are *, ? and […] of glob(7)"
            ),
            (
                "file: \"/srv/{a/b,c}.flag\"",
                "“{a/b,c}” in “file” stands for itself; the only patterns are *, ? and […] of glob(7)"
            ),
            (
                "file: \"/srv/flag \"",
                "“file” ends with an invisible character, U+20, which is a part of the name"
            ),
            (
                "http: { url: http://a, status: 300-399 }",
                "“status: 300-399” is never seen, because redirects are followed; add “redirects: 0” to expect it"
            ),
            (
                "http: { url: http://a, status: 301 }",
                "“status: 301” is never seen, because redirects are followed; add “redirects: 0” to expect it"
            ),
            (
                "http: { url: http://a, status: [200, 307-308] }",
                "“status: 307-308” is never seen, because redirects are followed; add “redirects: 0” to expect it"
            ),
        ])
    func surprises(_ option: String, _ reason: String) throws {
        let (servers, problems) = try load("servers:\n  a: { \(option) }\n")
        #expect(problems.map(\.reason) == [reason])
        #expect(problems.map(\.severity) == [.warning])
        #expect(problems.map(\.origin.line) == [2])
        #expect(servers["a"]?.failure == nil)
    }

    @Test(
        "what is no pattern in the path of a file is named",
        arguments: [
            ("/x/@(a|b).dump", "@(a|b).dump"), ("/x/db.+(old|new)", "db.+(old|new)"), ("/x/[abc", "[abc"),
            ("/x/db-%Y-%m.dump", "db-%Y-%m.dump"), ("/x/db-$(date +%F).dump", "db-$(date +%F).dump"),
            ("/x/${DAY}/a", "${DAY}"), ("/x/~/a", "~"), ("/x/{1..9}.dump", "{1..9}"), ("/x/a-{b,c}", "{b,c}"),
        ])
    func literals(_ path: String, _ part: String) throws {
        let problems = try load("servers:\n  a: { file: { path: \"\(path)\", exists: false } }\n").problems
        let reason = "“\(part)” in “path” stands for itself; the only patterns are *, ? and […] of glob(7)"
        #expect(problems.map(\.reason) == [reason])
    }

    @Test(
        "statuses that are never seen, because redirects are followed, are all named",
        arguments: [
            ("301", "301"), ("[200, 307-308]", "307-308"), ("[301, 302]", "301, 302"), ("300-399", "300-399"),
            ("[300, 303]", "303"), ("[300-302, 200]", "300-302"),
        ])
    func redirects(_ status: String, _ shown: String) throws {
        let problems = try load("servers:\n  a: { http: { url: http://a, status: \(status) } }\n").problems
        let reason = "“status: \(shown)” is never seen, because redirects are followed; add “redirects: 0” to expect it"
        #expect(problems.map(\.reason) == [reason])
    }

    @Test(
        "a value that means what it seems to is no warning",
        arguments: [
            "exec: [/p/check_load, -w, \"5,4,3\"]", "exec: [/p/check, 5, 4, 3]", "exec: [/p/check,-w,a,b]",
            "exec: [/bin/echo,-w,5,-c,10]",
            "exec: [/bin/sh, -c, 'exit 1', '|', $HOME]", "exec: [/p/check, '$', 'a|b', '5', '4']",
            "exec: [/p/check, '-H 127.0.0.1', \"“hi”\", a - b, -]",
            "file: \"/x/[abc]*/[]]/a[!]]\"", "file: '/x/\\[a'", "file: /x/a%20b", "file: /x/a(b)", "file: '/x/a**'",
            "file: \"/x/{a}/b.flag\"", "file: /x/a$b", "http: { url: http://a, status: 301, redirects: 0 }",
            "http: { url: http://a, status: 200-399 }", "http: { url: http://a, status: [200, 304] }",
        ])
    func expected(_ option: String) throws {
        #expect(try load("servers:\n  a: { \(option) }\n").problems == [])
    }
}
