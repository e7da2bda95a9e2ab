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

    @Test("an unknown key is a warning with its line")
    func unknown() throws {
        let (settings, problems) = try HTTPSettings.read("http: { url: http://a,\n  contain: b }")
        #expect(settings == HTTPSettings(url: "http://a"))
        #expect(problems.map(\.severity) == [.warning])
        #expect(problems.map(\.origin.line) == [2])
        #expect(problems.first?.reason.hasSuffix("did you mean “contains”?") == true)
    }
}
