// SPDX-License-Identifier: Apache-2.0

#if Web
import Testing

@testable import StatusWeb

@Suite("Addresses of requests") struct RequestTargetTests {
    @Test("the path is decoded in parts, and so are the parameters of the query, in their order")
    func reads() throws {
        let target = try #require(RequestTarget("/api/history/a%2Fb+c?since=1+2%2B3&server=x&server=y&flag&empty="))
        #expect(target.path == ["api", "history", "a/b+c"])
        #expect(target["since"] == "1 2+3")
        #expect(target.values("server") == ["x", "y"])
        #expect(target["flag"] == nil && target["empty"] == nil && target["none"] == nil)
        #expect(RequestTarget("/")?.path == [])
        #expect(RequestTarget("/?a=b")?["a"] == "b")
        #expect(RequestTarget("/a/")?.path == ["a", ""])
        #expect(RequestTarget("/ä")?.path == ["ä"])
    }

    @Test(
        "invalid addresses, and those of proxies, are refused",
        arguments: ["", "*", "a", "http://a/", "/%", "/%4", "/%zz", "/%00", "/%ff", "/a?b=%00", "/a?%c3=b"])
    func invalid(_ text: String) { #expect(RequestTarget(text) == nil) }
}

@Suite("Addresses to listen at") struct ListenerTests {
    @Test("a host with a port, an address in brackets, or the path of a socket")
    func reads() {
        #expect(Listener("127.0.0.1:8470") == .tcp(host: "127.0.0.1", port: 8470))
        #expect(Listener("[::1]:80") == .tcp(host: "::1", port: 80))
        #expect(Listener("localhost:0") == .tcp(host: "localhost", port: 0))
        #expect(Listener("unix:/run/web") == .unix("/run/web"))
    }

    @Test(
        "other texts are refused",
        arguments: [
            "", "8470", ":8470", "host:", "host:65536", "host:http", "unix:web",
            "unix:/\(String(repeating: "x", count: 107))",
        ])
    func invalid(_ text: String) { #expect(Listener(text) == nil) }
}
#endif
