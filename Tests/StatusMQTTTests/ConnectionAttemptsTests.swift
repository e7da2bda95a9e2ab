// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusConfiguration
import Testing

@testable import StatusMQTT

@Suite("The attempts to connect to a broker") struct ConnectionAttemptsTests {
    private func brokers(_ names: String...) throws -> [MQTTBroker] {
        try names.map { try #require(MQTTBroker("mqtt://\($0)")) }
    }

    private let unreachable = ConnectionFailure(.unreachable, "cannot connect")

    @Test("the whole list is tried before the pauses grow, and they stay below 26 s")
    func wholeList() throws {
        var attempts = ConnectionAttempts(try brokers("a", "b", "c"), first: 1)
        var hosts: [String] = []
        var pauses: [Duration] = []
        for _ in 0..<60 {
            hosts.append(attempts.next.broker.host)
            pauses.append(attempts.ended(unreachable, after: nil, random: 1))
        }
        #expect(hosts.prefix(4) == ["b", "c", "a", "b"])
        #expect(pauses[0] == .milliseconds(110) && pauses[1] == .milliseconds(110))
        #expect(pauses[2] > pauses[1] && pauses[5] > pauses[4])
        #expect(pauses.last == .milliseconds(25_610))
    }

    @Test("the pauses of two hosts differ")
    func jitter() throws {
        var (one, other) = (
            ConnectionAttempts(try brokers("a"), first: 0), ConnectionAttempts(try brokers("a"), first: 0)
        )
        #expect(one.ended(unreachable, after: nil, random: 0) * 1.5 < other.ended(unreachable, after: nil, random: 1))
    }

    @Test(
        "a broker that refuses MQTT 5, or closes the connection instead of answering, is asked for MQTT 3.1.1 at once",
        arguments: [ConnectionFailure.Code.version, .closedAtOnce])
    func olderVersion(code: ConnectionFailure.Code) throws {
        var attempts = ConnectionAttempts(try brokers("a", "b"), first: 0)
        #expect(attempts.next.version == .five)
        #expect(attempts.ended(ConnectionFailure(code, ""), after: nil, random: 1) == .zero)
        #expect(attempts.next == .init(broker: try brokers("a")[0], version: .three))
        // A lost connection later does not change that.
        _ = attempts.ended(ConnectionFailure(.lost, ""), after: .seconds(60), random: 1)
        _ = attempts.ended(unreachable, after: nil, random: 1)
        #expect(attempts.next == .init(broker: try brokers("a")[0], version: .three))
    }

    @Test("a broker that refuses both versions is asked for MQTT 5 again, after the other brokers")
    func neitherVersion() throws {
        var attempts = ConnectionAttempts(try brokers("a", "b"), first: 0)
        _ = attempts.ended(ConnectionFailure(.closedAtOnce, ""), after: nil, random: 1)
        #expect(attempts.ended(ConnectionFailure(.closedAtOnce, ""), after: nil, random: 1) > .zero)
        #expect(attempts.next.broker.host == "b")
        _ = attempts.ended(unreachable, after: nil, random: 1)
        #expect(attempts.next == .init(broker: try brokers("a")[0], version: .five))
    }

    @Test("after a connection that lasted, the pauses are short again; a wanted end has none, unless it comes soon")
    func shortAgain() throws {
        var attempts = ConnectionAttempts(try brokers("a"), first: 0)
        for _ in 0..<20 { _ = attempts.ended(unreachable, after: nil, random: 1) }
        #expect(attempts.ended(ConnectionFailure(.lost, ""), after: .seconds(31), random: 1) < .seconds(1))
        #expect(attempts.ended(ConnectionFailure(.wanted, ""), after: .seconds(6), random: 1) == .zero)
        #expect(attempts.ended(ConnectionFailure(.wanted, ""), after: .seconds(1), random: 1) == .seconds(1))
        for _ in 0..<20 { _ = attempts.ended(ConnectionFailure(.wanted, ""), after: .seconds(1), random: 1) }
        #expect(attempts.ended(ConnectionFailure(.wanted, ""), after: .seconds(1), random: 1) > .seconds(20))
    }

    @Test("an error says what to do")
    func sentences() throws {
        let broker = try brokers("mq1.example")[0]
        let closed = ConnectionFailure.closed(broker, .three, hasAnswered: true, isAtDot: true)
        #expect(closed.description.contains("if it is nats-server, it must be version 2.10"))
        #expect(ConnectionFailure.refused(132, by: broker, .five, MQTTLogin()).code == .version)
        let failure = ConnectionFailure.refused(5, by: broker, .three, MQTTLogin(user: "web\u{1b}1"))
        #expect(failure.description.contains(#"web\u{1b}1"#))
        #expect(ConnectionFailure.disconnected(142, by: broker, reason: "").code == .takenOver)
        #expect(ConnectionFailure.tls(broker, ["OpenSSL Error[0]: certificate verify failed"]).code == .untrusted)
    }

    @Test("however a port without TLS ends a connection with TLS, the advice is mqtt://")
    func withoutTLS() throws {
        let broker = try #require(MQTTBroker("mqtts://a"))
        for failure in [
            ConnectionFailure.notConnected(broker, errno: ECONNRESET), .notTaken(broker),
            .closed(broker, .three, hasAnswered: false, isAtDot: false),
        ] {
            #expect(failure.description.contains("without TLS, write mqtt://"))
        }
    }
}
