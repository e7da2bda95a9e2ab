// SPDX-License-Identifier: Apache-2.0

import StatusAlerts
import StatusModel

/// A host in virtual time around an ``AlertMachine``: servers that change, receivers that fail, restarts and crashes.
///
/// It knows what is true and what each receiver has got, and notes each broken promise.
public struct World {
    /// A fault to plant, with which a checker must find something.
    public enum Fault: CaseIterable, Sendable {
        case losesRecoveries, ignoresSilences, forgetsDeliveries, inventsProblems, ignoresParents, ignoresDuration
    }

    struct Server {
        var rule: AlertRule
        /// How it is.
        var actual = Level.ok
        /// How statusd sees it; nil before the first status.
        var seen: Level?
        var isDown = false
        var isSilenced = false
        var changedAt = Duration.zero
        /// When it was last seen at a level that is not in the set, by level.
        var left: [Level: Duration] = [:]
    }

    struct Receiver {
        var settings: AlertReceiver
        /// How deliveries end from now on; nil for at random.
        var end: DeliveryEnd? = .delivered
        var running:
            (number: Int, alerts: [Alert], endsAt: Duration, end: DeliveryEnd, arrives: Bool, new: Set<String>)?
        /// The last message about each server that has arrived.
        var got: [ServerName: (alert: Alert, at: Duration)] = [:]
        /// The problems that it may have been told.
        var attempted: Set<String> = []
        /// Those that only a refused delivery had, of which the saved state does not know the end yet.
        var withdrawn: Set<String> = []
        /// Servers about which one message may come twice.
        var mayRepeat: Set<ServerName> = []
        /// The servers of its delivery when it was removed.
        var interrupted: Set<ServerName> = []
    }

    var random: SplitMix
    var now = Duration.seconds(1000)
    var machine = AlertMachine(at: .seconds(1000))
    var servers: [ServerName: Server] = [:]
    var receivers: [String: Receiver] = [:]
    /// Receivers that were removed.
    private var former: [String: Receiver] = [:]
    var rechecks: [(server: ServerName, endsAt: Duration)] = []
    var saved: [AlertKey: Told] = [:]
    let fault: Fault?
    /// The broken promises.
    public internal(set) var violations: [String] = []
    /// What has happened, to explain a violation; only if wanted.
    var log: [String]?

    init(seed: UInt64, fault: Fault? = nil, logs: Bool = false) {
        random = SplitMix(state: seed)
        self.fault = fault
        log = logs ? [] : nil
    }

    mutating func note(_ text: @autoclosure () -> String) { log?.append("\(now) \(text())") }

    mutating func violate(_ promise: String, _ text: String) {
        note("VIOLATION \(promise): \(text)")
        violations.append("\(promise): \(text)")
    }

    // MARK: Receivers

    /// Adds a receiver, or changes its settings.
    mutating func set(_ settings: AlertReceiver, for name: String) {
        if receivers[name] == nil {
            var receiver = former.removeValue(forKey: name) ?? Receiver(settings: settings)
            receiver.mayRepeat.formUnion(receiver.interrupted)
            receivers[name] = receiver
        }
        receivers[name]?.settings = settings
    }

    mutating func removeReceiver(_ name: String) {
        guard var receiver = receivers.removeValue(forKey: name) else { return }
        receiver.interrupted = Set(receiver.running?.alerts.map(\.server) ?? [])
        receiver.running = nil
        former[name] = receiver
    }

    // MARK: Servers

    mutating func add(_ name: ServerName, _ rule: AlertRule) {
        servers[name, default: Server(rule: rule)].rule = rule
        var known = rule
        if fault == .ignoresDuration { (known.after, known.clear) = (.zero, .zero) }
        if fault == .ignoresParents { known.parent = nil }
        machine.set(known, for: name, at: now, wall: wall)
    }

    mutating func remove(_ name: ServerName) {
        note("remove \(name)")
        servers[name] = nil
        machine.remove(name, at: now)
    }

    var wall: Timestamp { wall(at: now) }

    private func wall(at time: Duration) -> Timestamp {
        Timestamp(milliseconds: 1_700_000_000_000 + Int64(time / .milliseconds(1)))
    }

    /// How a check finds a server: critical if something above it is down.
    func found(_ name: ServerName) -> Level {
        var next: ServerName? = servers[name]?.rule.parent
        while let parent = next, let server = servers[parent] {
            if server.actual == .critical { return .critical }
            next = server.rule.parent
        }
        return servers[name]?.actual ?? .ok
    }

    /// What statusd sees now; a server that reports by itself cannot see what is above it.
    mutating func look(at name: ServerName) {
        guard let server = servers[name] else { return }
        let level = server.rule.isChecked ? found(name) : server.actual
        guard level != server.seen else { return }
        note("\(name) is \(level)")
        if let old = server.seen { servers[name]?.left[old] = now }
        servers[name]?.seen = level
        servers[name]?.isDown = level == .critical
        servers[name]?.changedAt = now
        tell(name)
    }

    mutating func silence(_ name: ServerName, _ isSilenced: Bool) {
        guard servers[name] != nil else { return }
        note("\(name) is \(isSilenced ? "" : "not ")silenced")
        servers[name]?.isSilenced = isSilenced
        tell(name)
    }

    private mutating func tell(_ name: ServerName) {
        guard let server = servers[name] else { return }
        if fault == .losesRecoveries, server.seen == .ok, random.below(4) == 0 { return }
        machine.take(
            name, level: server.seen, isDown: server.isDown,
            isSilenced: server.isSilenced && fault != .ignoresSilences, at: now, wall: wall)
    }

    // MARK: Time

    /// Lets time pass.
    mutating func pass(_ duration: Duration) {
        let end = now + duration
        while true {
            let next = pump()
            let times = [next] + receivers.values.map { $0.running?.endsAt } + rechecks.map(\.endsAt)
            guard let time = times.compactMap(\.self).min(), time <= end else { break }
            now = max(now, time)
            endWhatEnds()
        }
        now = end
    }

    /// Does what is due; returns when something is due next.
    private mutating func pump() -> Duration? {
        while true {
            let (actions, next) = machine.advance(to: now)
            if actions.isEmpty { return next }
            for action in actions {
                switch action {
                case .deliver(let receiver, let number, let alerts): deliver(alerts, number, to: receiver)
                case .recheck(let name):
                    note("recheck \(name)")
                    rechecks.append((name, now + .milliseconds(random.below(3000))))
                }
            }
        }
    }

    private mutating func endWhatEnds() {
        for (name, receiver) in receivers.sorted(by: { $0.key < $1.key }) {
            guard let running = receiver.running, running.endsAt <= now else { continue }
            receivers[name]?.running = nil
            if running.arrives { arrive(running.alerts, at: name) }
            note("delivery to \(name) ends: \(running.end)")
            if running.end == .refused { receivers[name]?.withdrawn.formUnion(running.new) }
            if running.end == .unknown {
                for alert in running.alerts { receivers[name]?.mayRepeat.insert(alert.server) }
            }
            if fault == .forgetsDeliveries, random.below(3) == 0 {
                machine.ended(name, number: running.number, .refused, at: now, jitter: 0)
            } else {
                machine.ended(
                    name, number: running.number, running.end, at: now, jitter: Double(random.below(100)) / 100)
            }
        }
        for (name, _) in rechecks.filter({ $0.endsAt <= now }) {
            look(at: name)
            machine.rechecked(name)
        }
        rechecks.removeAll { $0.endsAt <= now }
    }

    private mutating func deliver(_ alerts: [Alert], _ number: Int, to name: String) {
        save()
        check(alerts, for: name)
        let ends: [DeliveryEnd] = [.delivered, .delivered, .refused, .unknown]
        let end = receivers[name]?.end ?? ends[random.below(ends.count)]
        let arrives = end == .delivered || end == .unknown && random.below(2) == 0
        note("deliver to \(name): \(alerts.map { "\($0.kind) \($0.server) \($0.level) \($0.id)" })")
        let new = Set(alerts.map(\.id)).subtracting(receivers[name]?.attempted ?? [])
        receivers[name]?.attempted.formUnion(new)
        receivers[name]?.running = (number, alerts, now + .milliseconds(random.below(20_000)), end, arrives, new)
    }

    // MARK: Restarts

    mutating func save() {
        for (key, told) in machine.takeUnsaved() { saved[key] = told }
        for (name, receiver) in receivers {
            receivers[name]?.attempted.subtract(receiver.withdrawn)
            receivers[name]?.withdrawn = []
        }
        for (name, receiver) in former {
            former[name]?.attempted.subtract(receiver.withdrawn)
            former[name]?.withdrawn = []
        }
    }

    /// Ends the daemon, without saving anything if it is killed, and starts it again.
    mutating func restart(isKilled: Bool) {
        note(isKilled ? "kill" : "restart")
        if !isKilled { save() }
        for (name, receiver) in receivers {
            if let running = receiver.running, random.below(2) == 0 || running.arrives && !isKilled {
                arrive(running.alerts, at: name)
            }
            receivers[name]?.running = nil
            receivers[name]?.withdrawn = []
            let told = Set(receivers[name]?.got.keys.map { $0 } ?? [])
            receivers[name]?.mayRepeat = told
        }
        for (name, receiver) in former {
            former[name]?.interrupted.formUnion(receiver.got.keys)
            former[name]?.withdrawn = []
        }
        rechecks = []
        now += .milliseconds(random.below(100_000))
        machine = AlertMachine(told: saved, at: now)
        machine.configure(receivers.mapValues(\.settings))
        for (name, server) in servers {
            add(name, server.rule)
            machine.restore(
                name, level: server.seen, isDown: server.isDown,
                isSilenced: server.isSilenced && fault != .ignoresSilences,
                since: (server.changedAt, wall(at: server.changedAt)))
        }
    }
}

/// A small random generator, the same in every run (Steele, Lea and Flood, “Fast Splittable Pseudorandom Number
/// Generators”, 2014).
struct SplitMix {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    mutating func below(_ limit: Int) -> Int { Int(truncatingIfNeeded: next() % UInt64(limit)) }
}
