// SPDX-License-Identifier: Apache-2.0

import StatusModel

extension AlertMachine {
    /// The most alerts of a delivery, so that their longest texts fit into a message; the others follow in the next.
    static let mostAlerts = 50
    /// The pauses after failed deliveries; the last one is repeated for ever.
    static let pauses = [10, 20, 40, 80, 160, 320, 640, 900].map { Duration.seconds($0) }

    /// Begins a delivery if one is due; appends the time at which it will be.
    mutating func deliver(
        _ due: [(ServerName, Alert.Kind)], to name: String, at now: Duration, _ times: inout [Duration]
    ) -> [Action] {
        guard var receiver = receivers[name], receiver.sending == nil else { return [] }
        defer { receivers[name] = receiver }
        guard !due.isEmpty else {
            receiver.dueSince = nil
            return []
        }
        let since = receiver.dueSince ?? now
        receiver.dueSince = since
        let time = max(since + receiver.settings.batch, receiver.nextAttempt)
        guard now >= time else {
            times.append(time)
            return []
        }
        let alerts = due.map { alert($1, on: $0, for: name) }.sorted {
            ($1.level.severity, $0.server.rawValue) < ($0.level.severity, $1.server.rawValue)
        }.prefix(Self.mostAlerts)
        lastDelivery += 1
        receiver.sending = alerts.map { ($0, told(AlertKey(name, $0.server))) }
        receiver.delivery = lastDelivery
        for alert in alerts {
            var told = told(AlertKey(name, alert.server))
            (told.id, told.isOutdated) = (alert.id, true)
            set(told, for: AlertKey(name, alert.server))
        }
        return [.deliver(receiver: name, number: lastDelivery, Array(alerts))]
    }

    private func alert(_ kind: Alert.Kind, on name: ServerName, for receiver: String) -> Alert {
        let (server, told) = (servers[name], told(AlertKey(receiver, name)))
        let since = server?.since.wall ?? Timestamp(milliseconds: 0)
        return Alert(
            kind: kind, server: name, level: kind == .removed ? .ok : server?.level ?? .ok, oldLevel: told.level,
            id: told.id ?? "\(name)-\(String(since.milliseconds, radix: 36))", since: since)
    }

    /// Notes the end of a receiver's delivery.
    ///
    /// That of a receiver that was removed meanwhile does not count, even if the receiver is there again.
    ///
    /// - Parameter jitter: a random number from 0 to 1, by which receivers that failed together are tried apart.
    public mutating func ended(
        _ name: String, number: Int, _ end: DeliveryEnd, at now: Duration, jitter: Double
    ) {
        guard var receiver = receivers[name], receiver.delivery == number, let alerts = receiver.sending else { return }
        (receiver.sending, receiver.dueSince) = (nil, nil)
        if end == .delivered {
            (receiver.failures, receiver.nextAttempt) = (0, now)
        } else {
            let pause = Self.pauses[min(receiver.failures, Self.pauses.count - 1)]
            receiver.failures += 1
            receiver.nextAttempt = now + pause * (0.9 + 0.2 * jitter)
        }
        for (alert, before) in alerts {
            let key = AlertKey(name, alert.server)
            switch end {
            case .delivered:
                var told = Told()
                (told.level, told.toldAt, told.id) = (alert.level, now, alert.level == .ok ? nil : alert.id)
                set(told, for: key)
            case .refused: set(before, for: key)
            case .unknown: break
            }
            reopen(alert.server)
        }
        receivers[name] = receiver
    }
}
