// SPDX-License-Identifier: Apache-2.0

import StatusAlerts
import StatusModel

/// The promises, each with its checker.
extension World {
    /// NeverHeld, NoGhost and NotEarly: what a delivery may contain when it begins.
    mutating func check(_ alerts: [Alert], for name: String) {
        guard let receiver = receivers[name] else { return violate("Settles", "a delivery to nobody") }
        for alert in alerts where alert.kind != .removed {
            guard let server = servers[alert.server] else {
                violate("NoGhost", "\(name) is told of \(alert.server), which does not exist")
                continue
            }
            if server.isSilenced { violate("NeverHeld", "\(name) is told of \(alert.server), which is silenced") }
            if let parent = firstDown(above: alert.server) {
                violate("NeverHeld", "\(name) is told of \(alert.server) while \(parent) is down")
            }
            if alert.kind == .recovery, !receiver.attempted.contains(alert.id) {
                violate("NoGhost", "\(name) is told the end of \(alert.id), which it was never told")
            }
            checkDuration(alert, server, receiver)
        }
        if Set(alerts.map(\.server)).count < alerts.count { violate("Once", "\(name) is told a server twice at once") }
    }

    private mutating func checkDuration(_ alert: Alert, _ server: Server, _ receiver: Receiver) {
        if alert.kind == .recovery {
            if now < server.changedAt + server.rule.clear {
                violate("NotEarly", "\(alert.server) has been ok only since \(server.changedAt)")
            }
        } else if alert.kind == .problem {
            let unwanted = Set(Level.allCases).subtracting(receiver.settings.levels)
            let since = unwanted.compactMap { server.left[$0] }.max() ?? .zero
            if now < since + server.rule.after {
                violate("NotEarly", "\(alert.server) has been bad only since \(since)")
            }
        }
    }

    func firstDown(above name: ServerName) -> ServerName? {
        var next = servers[name]?.rule.parent
        while let parent = next, let server = servers[parent] {
            if server.isDown { return parent }
            next = server.rule.parent
        }
        return nil
    }

    /// Once: what arrives at a receiver.
    mutating func arrive(_ alerts: [Alert], at name: String) {
        for alert in alerts {
            if let last = receivers[name]?.got[alert.server], alert.kind != .reminder, last.alert.level == alert.level,
                last.alert.id == alert.id, last.alert.kind != .removed,
                servers[alert.server].map({ $0.changedAt < last.at }) ?? false,
                receivers[name]?.mayRepeat.remove(alert.server) == nil
            {
                violate("Once", "\(name) gets \(alert.kind) \(alert.id) twice")
            }
            receivers[name]?.got[alert.server] = (alert, now)
        }
    }

    /// Settles: once it is quiet, the last thing that each receiver was told is what is true.
    mutating func checkSettled() {
        for (name, receiver) in receivers {
            for (key, last) in receiver.got where servers[key] == nil && last.alert.level != .ok {
                violate("Settles", "\(name) still believes that \(key), which is gone, is \(last.alert.level)")
            }
            for (key, server) in servers {
                let last = receiver.got[key]?.alert
                let isCovered = server.rule.isOn && receiver.settings.covers(key, isConfigured: true)
                guard let seen = server.seen, isCovered else {
                    if let last, last.level != .ok, !isCovered {
                        violate("Settles", "\(name) still believes that \(key) is \(last.level)")
                    }
                    continue
                }
                guard firstDown(above: key) == nil else { continue }
                let isWanted = receiver.settings.levels.contains(seen)
                if seen == .ok, let last, last.level != .ok {
                    violate("Settles", "\(name) believes that \(key) is \(last.level), but it is ok")
                } else if isWanted, last?.level != seen {
                    violate("Settles", "\(name) was told \(key) is \(last?.level.rawValue ?? "ok"), but it is \(seen)")
                }
            }
        }
    }
}
