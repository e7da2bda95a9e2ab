// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusConfiguration
import StatusModel

/// Removes all messages that the broker keeps of a host that is gone (`--remove`).
@EventLoop
struct HostRemoval {
    /// How long the broker may take to acknowledge a message.
    private static let patience = Duration.seconds(15)

    private let settings: BridgeSettings
    private let host: String

    init(_ settings: BridgeSettings, host: String) { (self.settings, self.host) = (settings, host) }

    /// Removes the messages; returns the exit status.
    func run() async -> Int32 {
        do throws(ConnectionFailure) {
            let visit = try await BrokerVisit.begin(settings.connection("remove"))
            defer { withExtendedLifetime(visit) {} }
            let status = try await remove(visit)
            await visit.end()
            return status
        } catch {
            fail("cannot remove \(host): \(error)")
            return 1
        }
    }

    private func remove(_ visit: BrokerVisit) async throws(ConnectionFailure) -> Int32 {
        guard try await !visit.subscribe([Topic.filter(host: host), Discovery.topic(of: host)]).contains(false) else {
            fail("the broker does not permit reading the messages of \(host); use a user who may")
            return 1
        }
        // The user who may write this one may not be permitted to read it.
        var topics: Set<String> = settings.mqtt.discovery == nil ? [] : [Discovery.topic(of: host)]
        let known = topics.count
        var isReady = false
        try await visit.readKept { message in
            if !message.payload.isEmpty { topics.insert(message.topic) }
            let isPresence = message.topic == Topic.presence(host: host).text
            if isPresence { isReady = Presence.read(message.payload, at: .now)?.state == .ready }
        }
        guard !isReady else {
            fail("\(host) is ready; stop its statusd-mqtt first, or wait until it is lost")
            return 1
        }
        guard topics.count > known else {
            fail("the broker shows nothing of \(host): there is nothing, or this user may not read it")
            return 1
        }
        return try await empty(topics, visit)
    }

    private func empty(_ topics: Set<String>, _ visit: BrokerVisit) async throws(ConnectionFailure) -> Int32 {
        var (removed, refusal): (Int, String?) = (0, nil)
        for topic in topics.sorted() {
            visit.publish(OutgoingMessage(topic: topic, payload: []))
            var isAnswered = false
            while !isAnswered, let event = await visit.next(within: Self.patience) {
                switch event {
                case .published(_, let reason):
                    isAnswered = true
                    if let reason { refusal = reason } else { removed += 1 }
                case .ended(let failure, _): throw failure
                default: break
                }
            }
        }
        print("removed \(removed) message\(removed == 1 ? "" : "s") of \(host)")
        guard removed < topics.count else { return 0 }
        fail("the broker does not permit the removal of \(topics.count - removed): \(refusal ?? "no answer")")
        return 1
    }

    private func fail(_ reason: String) { StandardOutput.write("statusd-mqtt: \(reason)\n", to: 2) }
}
