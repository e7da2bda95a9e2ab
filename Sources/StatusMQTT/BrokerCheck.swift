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
        var isFine = true
        for broker in settings.mqtt.brokers {
            do throws(ConnectionFailure) {
                if try await !check(broker) { isFine = false }
            } catch {
                print("\(broker): \(error)")
                isFine = false
            }
        }
        return isFine ? 0 : 1
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
            print("\(broker): \(isGranted ? "permits" : "does not permit") the subscription to \(filter)")
        }
        if publishes {
            print("\(broker): whether it permits publishing cannot be known without publishing")
        }
        await visit.end()
        return granted.count == filters.count && !granted.contains(false)
    }
}
