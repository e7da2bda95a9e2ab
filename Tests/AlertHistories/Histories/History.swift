// SPDX-License-Identifier: Apache-2.0

import StatusAlerts
import StatusModel

/// A random history, which the seed alone determines.
public struct History {
    private let seed: UInt64
    private let steps: Int
    private let fault: World.Fault?

    public init(seed: UInt64, steps: Int, fault: World.Fault? = nil) {
        (self.seed, self.steps, self.fault) = (seed, steps, fault)
    }

    /// How a promise is broken, in as few steps as possible; nil if none is.
    public var report: String? {
        guard !run().violations.isEmpty else { return nil }
        let worlds = (0...steps).lazy.map { History(seed: seed, steps: $0, fault: fault).run(logs: true) }
        let world = worlds.first { !$0.violations.isEmpty }
        return "seed \(seed):\n" + (world?.log ?? []).joined(separator: "\n")
    }

    private static let names = (0..<6).compactMap { ServerName("s\($0)") }
    private static let times = [0, 1, 30, 120].map { Duration.seconds($0) }

    public func run(logs: Bool = false) -> World {
        var world = World(seed: seed, fault: fault, logs: logs)
        begin(&world)
        for _ in 0..<steps where world.violations.isEmpty { step(&world) }
        if world.violations.isEmpty { end(&world) }
        return world
    }

    private func begin(_ world: inout World) {
        for number in 0..<1 + world.random.below(3) {
            let settings = settings(&world)
            world.set(settings, for: "r\(number)")
        }
        world.machine.configure(world.receivers.mapValues(\.settings))
        for (number, name) in Self.names.enumerated() {
            let rule = rule(&world, number)
            world.add(name, rule)
            world.look(at: name)
        }
        if fault == .inventsProblems, let name = Self.names.first {
            var told = Told()
            told.id = "ghost"
            told.level = .critical
            for receiver in world.receivers.keys { world.saved[AlertKey(receiver, name)] = told }
            world.restart(isKilled: true)
        }
    }

    private func settings(_ world: inout World) -> AlertReceiver {
        var settings = AlertReceiver()
        if world.random.below(3) == 0 { settings.levels = [.critical] }
        if world.random.below(3) == 0 { settings.batch = .zero }
        if world.random.below(4) == 0 { settings.repetition = .seconds(600) }
        if world.random.below(4) == 0 { settings.servers = ["s[0]", "s1", "s?"] }
        if world.random.below(6) == 0 { settings.servers = ["s1", "s2"] }
        return settings
    }

    /// The parents are servers with lower numbers, so there are no cycles.
    private func rule(_ world: inout World, _ number: Int) -> AlertRule {
        var rule = AlertRule()
        rule.after = Self.times[world.random.below(Self.times.count)]
        rule.clear = Self.times[world.random.below(Self.times.count)]
        rule.isChecked = world.random.below(3) > 0
        rule.isOn = world.random.below(8) > 0
        if number > 0, world.random.below(2) == 0 { rule.parent = Self.names[world.random.below(number)] }
        return rule
    }

    private func step(_ world: inout World) {
        let number = world.random.below(Self.names.count)
        let name = Self.names[number]
        switch world.random.below(20) {
        case 0..<6:
            let levels: [Level] = [.ok, .ok, .critical, .critical, .warning, .unknown]
            world.servers[name]?.actual = levels[world.random.below(levels.count)]
            if world.servers[name]?.rule.isChecked != true { world.look(at: name) }
        case 6..<10: world.look(at: name)
        case 10..<12: world.silence(name, world.random.below(2) == 0)
        case 12:
            let ends: [DeliveryEnd?] = [.delivered, .refused, .unknown, nil]
            let receiver = world.receivers.keys.sorted()[world.random.below(world.receivers.count)]
            world.receivers[receiver]?.end = ends[world.random.below(ends.count)]
        case 13: world.restart(isKilled: true)
        case 14: world.restart(isKilled: false)
        case 15:
            if world.servers[name] == nil {
                let rule = rule(&world, number)
                world.add(name, rule)
                world.look(at: name)
            } else {
                world.remove(name)
            }
        case 16:
            let rule = rule(&world, number)
            if world.servers[name] != nil { world.add(name, rule) }
        case 17: reload(&world)
        default: world.save()
        }
        let pauses = [0, 100, 1000, 3000, 11_000, 40_000, 200_000, 1_000_000]
        let pause = pauses[world.random.below(pauses.count)] * (1 + world.random.below(3)) / 2
        world.pass(.milliseconds(pause))
    }

    private func reload(_ world: inout World) {
        let name = "r\(world.random.below(3))"
        if world.receivers[name] == nil || world.random.below(2) == 0 {
            let settings = settings(&world)
            world.set(settings, for: name)
        } else if world.receivers.count > 1 {
            world.removeReceiver(name)
        }
        let names = world.receivers.keys.sorted()
        world.note("reload: \(names)")
        world.machine.configure(world.receivers.mapValues(\.settings))
    }

    /// Lets the receivers work, ends the silences, and waits until it is quiet.
    private func end(_ world: inout World) {
        world.note("end")
        for name in world.receivers.keys.sorted() { world.receivers[name]?.end = .delivered }
        for name in world.servers.keys.sorted() {
            world.silence(name, false)
            world.look(at: name)
        }
        world.pass(.seconds(2000))
        world.checkSettled()
    }
}
