// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import SourceKinds
import StatusModel
import Testing

@testable import StatusSources

@Suite("Pings") struct PingTests {
    @Test("a host and all other keys are read")
    func reads() throws {
        var settings = PingSettings(host: "192.0.2.1")
        #expect(try PingSettings.read("ping: 192.0.2.1").settings == settings)
        (settings.count, settings.loss, settings.slow) = (5, 12.5, .milliseconds(100))
        let entry = "ping: { host: 192.0.2.1, count: 5, loss: 12.5%, slow: 100ms }"
        #expect(try PingSettings.read(entry).settings == settings)
        for text in ["::1", "[::1]"] { #expect(try PingSettings.read("ping: '\(text)'").settings?.host == "::1") }
        #expect(try PingSettings.read("ping: 'fe80::1%eth0'").settings?.host == "fe80::1%eth0")
    }

    @Test(
        "invalid settings are refused",
        arguments: [
            "'a:80'", "'[::1]:80'", "'a b'", "http://a", "[a]", "{ count: 3 }", "{ host: a, count: 0 }",
            "{ host: a, count: 21 }", "{ host: a, loss: 20 }", "{ host: a, loss: 101% }", "{ host: a, loss: '%' }",
            "{ host: a, loss: 1e1% }", "{ host: a, slow: soon }",
        ])
    func mistakes(_ value: String) {
        #expect(throws: Problem.self) { try PingSettings.read("ping: \(value)") }
    }

    private func judge(_ times: [Int], of count: Int, _ failure: Int32? = nil, slow: Duration? = nil) -> CheckResult {
        var settings = PingSettings(host: "a")
        settings.slow = slow
        var run = EchoRun(count: count)
        run.times = times.map { .milliseconds($0) }
        run.failure = failure.map { IOError(errno: $0, "cannot ping") }
        return settings.judge(run, timeout: .seconds(10))
    }

    @Test("the level follows from the loss and the average time")
    func levels() {
        #expect(judge([10, 20, 30], of: 3).text == "0% of 3 lost, 20 ms")
        #expect(judge([10, 20, 30], of: 3).level == .ok)
        #expect(judge([10, 10], of: 3).text == "33% of 3 lost, 10 ms")
        #expect(judge([10, 10], of: 3).level == .warning)
        #expect(judge([Int](repeating: 10, count: 16), of: 20).level == .warning)
        #expect(judge([Int](repeating: 10, count: 17), of: 20).level == .ok)
        let slow = judge([100, 180, 140], of: 3, slow: .milliseconds(100))
        #expect(slow.text == "0% of 3 lost, 140 ms (slow)")
        #expect(slow.level == .warning)
    }

    @Test("without any answer, the reason is the network's report, or silence")
    func silence() {
        let silent = judge([], of: 3)
        #expect((silent.level, silent.text) == (.critical, "no answer to 3 pings within 10s"))
        #expect(judge([], of: 1).text == "no answer to 1 ping within 10s")
        #expect(judge([], of: 3, EHOSTUNREACH).text == "no route to host")
        #expect(silent.values.map(\.value) == [100])
    }

    @Test("a text stays while its numbers are near, and not if a number changes that is not measured")
    func near() {
        #expect(judge([10, 10, 10], of: 3).isNear(judge([12, 12, 12], of: 3)))
        #expect(!judge([10, 10, 10], of: 3).isNear(judge([40, 40, 40], of: 3)))
        func answer(_ text: String, _ lifetime: Double) -> CheckResult {
            let lifetime = MeasuredValue("ttl", lifetime, "s")
            return CheckResult(.ok, text, latency: Latency(.milliseconds(1)), unshown: [lifetime])
        }
        #expect(answer("192.0.2.7", 300).isNear(answer("192.0.2.7", 3)))
        #expect(!answer("192.0.2.7", 300).isNear(answer("192.0.2.8", 300)))
    }
}
