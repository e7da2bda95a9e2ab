// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusConfiguration
import StatusModel

/// Connects to each broker, and says what it permits (`--check`).
@EventLoop
struct BrokerCheck {
    private let settings: BridgeSettings

    init(_ settings: BridgeSettings) { self.settings = settings }

    /// Checks all brokers; returns the exit status.
    func run() async -> Int32 {
        var status: Int32 = 0
        for broker in settings.mqtt.brokers {
            do throws(ConnectionFailure) {
                if try await !check(broker) { status = max(status, 1) }
            } catch {
                print("\(broker): \(error)")
                status = max(status, error.code == .credentials ? 78 : 1)
            }
        }
        return status
    }

    private func check(_ broker: MQTTBroker) async throws(ConnectionFailure) -> Bool {
        var connection = settings.connection("check")
        connection.brokers = [broker]
        let visit = try await BrokerVisit.begin(connection)
        let user = settings.login.user.map { " as \(VisibleText.escape($0))" } ?? ""
        print("\(broker): connected with \(visit.info?.version ?? .five)\(user)")
        let publishes = !settings.mqtt.publish.isEmpty
        let filters =
            (publishes ? [Topic.filter(host: settings.host)] : []) + FollowReader.filters(for: settings.mqtt.follow)
        let granted = filters.isEmpty ? [] : try await visit.subscribe(filters)
        for (filter, isGranted) in zip(filters, granted) {
            print("\(broker): \(isGranted ? "grants" : "does not grant") the subscription to \(filter)")
        }
        if !settings.mqtt.follow.isEmpty { print("\(broker): \(Self.sentence(try await hosts(visit)))") }
        if publishes {
            print("\(broker): whether it permits publishing cannot be known without publishing")
        }
        if let name = settings.login.user, name != settings.host {
            print(
                "\(broker): “host” is \(settings.host); with the rights in statusd-mqtt(8), “user” must be the same, "
                    + "and not \(VisibleText.escape(name))")
        }
        await visit.end()
        return granted.count == filters.count && !granted.contains(false)
    }

    /// The hosts of which the broker shows something.
    private func hosts(_ visit: BrokerVisit) async throws(ConnectionFailure) -> Set<ServerName> {
        var reader = FollowReader(settings.mqtt.follow, own: settings.host)
        var hosts: Set<ServerName> = []
        try await visit.readKept { message in
            guard let topic = Topic(message.topic) else { return }
            let outcome = reader.read(message, topic, now: .zero, wall: .now)
            if case .report(let report) = outcome { hosts.insert(report.host) }
        }
        return hosts
    }

    private static func sentence(_ hosts: Set<ServerName>) -> String {
        switch hosts.count {
        case 0: "shows no host that is followed: none has published, or this user may not read"
        case 1: "shows 1 host that is followed"
        default: "shows \(hosts.count) hosts that are followed"
        }
    }
}
