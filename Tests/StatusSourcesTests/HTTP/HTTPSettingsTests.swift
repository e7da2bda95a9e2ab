// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import Testing

@Suite("Settings of HTTP servers") struct HTTPSettingsTests {
    @Test("a URL and all other keys are read")
    func reads() throws {
        #expect(
            try HTTPSettings.read("http: http://127.0.0.1/").settings == HTTPSettings(url: "http://127.0.0.1/"))
        var site = HTTPSettings(url: "https://127.0.0.1:8443/health")
        site.statusCodes = [200...200, 300...302]
        site.contains = "ready"
        site.certificateAuthority = "/etc/ca.pem"
        site.method = "POST"
        site.headers = ["Accept: text/plain", "X-Empty: "]
        site.redirects = 0
        let (settings, problems) = try HTTPSettings.read(
            """
            http:
              url: https://127.0.0.1:8443/health
              status: [200, 300-302]
              contains: ready
              ca: /etc/ca.pem
              method: POST
              headers: { Accept: text/plain, X-Empty: "" }
              redirects: 0
            """)
        #expect(settings == site)
        #expect(problems == [])
        #expect(site.requirements == [.library("libcurl.so.4", package: "libcurl4"), .readableFile("/etc/ca.pem")])
    }

    @Test("settings of the socket, the body and the credentials are read")
    func readsMore() throws {
        var container = HTTPSettings(url: "http://localhost/containers/web/json")
        container.socket = "/run/docker.sock"
        container.body = "{}"
        container.method = "POST"
        container.matches = "a+"
        container.json = JSONExpectation(
            path: try #require(JSONPath(".State.Health.Status")), equals: .text("healthy"))
        container.credentials = [CredentialField(field: "Authorization", name: "api")]
        container.headers = ["Accept: text/plain"]
        container.expires = nil
        let (settings, problems) = try HTTPSettings.read(
            """
            http:
              url: http://localhost/containers/web/json
              socket: /run/docker.sock
              body: "{}"
              matches: a+
              json: { path: .State.Health.Status, equals: healthy }
              headers: { Authorization: { credential: api }, Accept: text/plain }
              expires: 0
            """)
        #expect(settings == container)
        #expect(problems == [])
        #expect(container.sends("authorization"))
        #expect(container.requirements.contains(.connectableSocket("/run/docker.sock")))
        #expect(container.requirements.contains(.library("libpcre2-8.so.0", package: "libpcre2-8-0")))
    }

    @Test(
        "a scalar of YAML is the value that it has in JSON",
        arguments: [
            ("healthy", JSONScalar.text("healthy")), ("3", .number(3)), ("'3'", .text("3")), ("-1.5e2", .number(-150)),
            ("true", .flag(true)), ("'true'", .text("true")), ("on", .text("on")), ("null", .null), ("~", .null),
            ("'null'", .text("null")), ("0x10", .text("0x10")), ("inf", .text("inf")), ("''", .text("")),
        ] as [(String, JSONScalar)])
    func scalars(_ text: String, _ scalar: JSONScalar) throws {
        #expect(
            try HTTPSettings.read("http: { url: http://a, json: { path: .a, equals: \(text) } }").settings?.json?.equals
                == scalar)
    }

    @Test(
        "a path is read as by jq",
        arguments: [
            (".", []), (".a", [.member("a")]), (".a-b.c", [.member("a-b"), .member("c")]),
            (".a[0][12]", [.member("a"), .element(0), .element(12)]), (".[0].b", [.element(0), .member("b")]),
            (#"."x y"."q\"\\""#, [.member("x y"), .member(#"q"\"#)]), (#".a["b.c"]"#, [.member("a"), .member("b.c")]),
        ] as [(String, [JSONPath.Step])])
    func paths(_ text: String, _ steps: [JSONPath.Step]) {
        #expect(JSONPath(text)?.steps == steps)
    }

    @Test(
        "another path is refused",
        arguments: [
            "", "a", "..", ".a.", ".a[", ".a[]", ".a[x]", ".a[-1]", ".a[0", #".""#, #".a"b""#, ".a b",
            ".a[99999999999999999999]",
            String(repeating: ".a", count: 31),
        ])
    func wrongPaths(_ text: String) {
        #expect(JSONPath(text) == nil)
    }

    @Test("each setting is part of the subject, which is as before without new ones")
    func subject() throws {
        let site = HTTPSettings(url: "http://a")
        #expect(site.subjectParts == ["http://a", "GET", "200-299", "", "5"])
        let changes: [(inout HTTPSettings) -> Void] = [
            { $0.socket = "/a" }, { $0.proxy = "http://a:1" }, { $0.body = "a" }, { $0.matches = "a" },
            { $0.json = JSONPath(".a").map { JSONExpectation(path: $0) } }, { $0.expires = nil },
            { $0.expires = .seconds(1) }, { $0.credentials = [CredentialField(field: "A", name: "b")] },
        ]
        var seen: Set = [site.subjectParts]
        for change in changes {
            var changed = site
            change(&changed)
            #expect(seen.insert(changed.subjectParts).inserted)
        }
    }

    @Test("an error about a proxy or a header does not show the value, which may be secret")
    func secrets() {
        for entry in [
            "proxy: 'ftp://u:secret@a:1'", "proxy: 'http://u:secret@a'", "headers: { A: \"secret\\nb\" }",
            "headers: { A: { credential: ../secret } }",
        ] {
            let problem = #expect(throws: Problem.self) { try HTTPSettings.read("http: { url: http://a, \(entry) }") }
            #expect(problem?.reason.contains("secret") == false)
        }
    }

    @Test(
        "invalid settings are refused",
        arguments: [
            "ftp://a/", "https://", "[a]", "{ status: 200 }", "{ url: a }", "{ url: http://a, status: 99 }",
            "{ url: http://a, status: ok }", "{ url: http://a, status: 299-200 }", "{ url: http://a, status: [] }",
            "{ url: http://a, contains: '' }", "{ url: http://a, ca: ca.pem }", "{ url: http://a, method: get it }",
            "{ url: http://a, headers: [a] }", "{ url: http://a, headers: { 'a b': c } }",
            "{ url: http://a, headers: { a: \"b\\nc\" } }", "{ url: http://a, headers: { a: ~ } }",
            "{ url: http://a, headers: { a: } }", "{ url: http://a, redirects: 21 }",
            "{ url: http://a, method: HEAD, contains: a }", "{ url: 'http://a b/' }",
            "'http://a/\(String(repeating: "x", count: 65_536))'",
            "{ url: http://a, method: \(String(repeating: "X", count: 65_536)) }",
        ])
    func mistakes(_ value: String) {
        #expect(throws: Problem.self) { try HTTPSettings.read("http: \(value)") }
    }

    @Test("a configured header field is found by its name in any case")
    func fields() {
        var site = HTTPSettings(url: "http://a")
        site.headers = ["cookie: a=b", "Accept-Encoding: gzip"]
        #expect(site.sends("Cookie") && site.sends("Accept-Encoding"))
        #expect(!site.sends("Accept") && !site.sends("gzip"))
    }

    @Test("an unknown key is an error with its line, as a check without its condition could be ok for ever")
    func unknown() throws {
        let problem = try #require(throws: Problem.self) {
            try HTTPSettings.read("http: { url: http://a,\n  contain: b }")
        }
        #expect(problem.severity == .error)
        #expect(problem.origin.line == 2)
        #expect(problem.reason == "unknown key “contain” in “http”; did you mean “contains”?")
    }
}
