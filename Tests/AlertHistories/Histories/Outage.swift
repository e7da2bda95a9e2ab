// SPDX-License-Identifier: Apache-2.0

import StatusAlerts
import StatusModel

/// A random outage: a parent with forty children goes down and comes back, while each is seen at a time of its own.
///
/// The promise *Together*: nobody is told of a child while the parent is down; after its recovery, one delivery, or
/// none, has the children that are bad themselves.
public struct Outage {
    private static let children = (0..<40).compactMap { ServerName("child\($0)") }
    private let seed: UInt64
    private let fault: World.Fault?

    public init(seed: UInt64, fault: World.Fault? = nil) { (self.seed, self.fault) = (seed, fault) }

    /// How the promise is broken; nil if it is not.
    public var report: String? {
        guard let parent = ServerName("parent") else { return nil }
        var world = World(seed: seed, fault: fault)
        var receiver = AlertReceiver()
        // Without a delay, only a new result of the parent holds a child that is seen to be down first.
        if world.random.below(2) == 0 { receiver.batch = .zero }
        world.set(receiver, for: "mail")
        world.machine.configure(world.receivers.mapValues(\.settings))
        var rule = AlertRule()
        rule.isChecked = true
        world.add(parent, rule)
        rule.parent = parent
        for child in Self.children { world.add(child, rule) }
        see([parent] + Self.children, in: &world)
        world.pass(.seconds(60))
        // Children are often seen to be down before their parent is.
        let bad = Set(Self.children.filter { _ in world.random.below(8) == 0 })
        world.servers[parent]?.actual = .critical
        for child in bad { world.servers[child]?.actual = .critical }
        see(Self.children + [parent], in: &world)
        world.pass(.seconds(60 + world.random.below(600)))
        if let child = told(in: world).first { return "seed \(seed): \(child) is told during the outage" }
        world.servers[parent]?.actual = .ok
        see([parent] + Self.children, in: &world)
        world.pass(.seconds(600))
        let times = Set(world.receivers["mail"]?.got.filter { $0.key != parent }.map(\.value.at) ?? [])
        if times.count > 1, receiver.batch > .zero {
            return "seed \(seed): the children are told in \(times.count) deliveries"
        }
        let found = Set(told(in: world))
        return found == bad && world.violations.isEmpty
            ? nil : "seed \(seed): \(found.count) children are told, \(bad.count) are bad; \(world.violations)"
    }

    /// The children of which the receiver was told.
    private func told(in world: World) -> [ServerName] {
        (world.receivers["mail"]?.got.keys.map { $0 } ?? []).filter { Self.children.contains($0) }
    }

    /// Sees servers within three seconds, each at its time.
    private func see(_ names: [ServerName], in world: inout World) {
        let moments = names.map { (name: $0, at: world.random.below(3000)) }.sorted { $0.at < $1.at }
        var now = 0
        for moment in moments {
            world.pass(.milliseconds(moment.at - now))
            now = moment.at
            world.look(at: moment.name)
        }
    }
}
