// SPDX-License-Identifier: Apache-2.0

import StatusConfiguration

/// Decides which broker is tried next, with which version of the protocol, and after which pause.
///
/// It tries the whole list without a long pause. Then the pauses grow, with jitter, so that the hosts of a fleet do not
/// come back at the same time.
struct ConnectionAttempts: Sendable {
    struct Attempt: Equatable, Sendable {
        let broker: MQTTBroker
        let version: MQTTVersion
    }

    /// A connection that lasted longer has ended the series of failures.
    private static let longEnough = Duration.seconds(30)
    private static let soon = Duration.seconds(5)
    private static let shortestPause = 0.1
    private static let longestPause = 25.6

    private let brokers: [MQTTBroker]
    private var index: Int
    /// The brokers that did not speak MQTT 5 when they were last tried.
    private var olderBrokers: Set<MQTTBroker> = []
    private var failures = 0

    /// - Parameter first: the index of the first broker, at random, so that a fleet uses all of them.
    init(_ brokers: [MQTTBroker], first: Int) {
        precondition(!brokers.isEmpty, "there is no broker to connect to")
        self.brokers = brokers
        index = first % brokers.count
    }

    var next: Attempt {
        let broker = brokers[index]
        return Attempt(broker: broker, version: olderBrokers.contains(broker) ? .three : .five)
    }

    /// The attempt has ended; returns how long to wait before the next one.
    ///
    /// - Parameters:
    ///   - lasted: how long the connection was up; nil if it never was.
    ///   - random: a number from 0 to 1.
    mutating func ended(_ failure: ConnectionFailure, after lasted: Duration?, random: Double) -> Duration {
        let broker = brokers[index]
        switch (failure.code, lasted) {
        case (.wanted, let lasted?) where lasted >= Self.soon:
            failures = 0
            return .zero
        case (.wanted, _):
            // Whoever may write below this host's name can have it connect again and again.
            failures += 1
            return max(pause(random), .seconds(1))
        case (.version, nil), (.closedAtOnce, nil):
            // NATS and older brokers. One that only closed is asked for MQTT 5 again, if the older version fails too.
            if olderBrokers.insert(broker).inserted { return .zero }
            olderBrokers.remove(broker)
        default: break
        }
        if let lasted, lasted > Self.longEnough { failures = 0 }
        failures += 1
        index = (index + 1) % brokers.count
        return pause(random)
    }

    private func pause(_ random: Double) -> Duration {
        let rounds = failures / brokers.count
        let longest = min(Self.longestPause, Self.shortestPause * Double(1 << min(rounds, 8)))
        // The shortest part is for a broker that refuses at once.
        return .milliseconds(10 + Int((longest * (0.5 + random / 2) * 1000).rounded()))
    }
}
