// SPDX-License-Identifier: Apache-2.0

import NotificationStreams
import StatusModel
import StatusMonitor
import Synchronization

/// A monitor with servers, whose clock stands still until the test advances it.
struct MonitorFixture {
    let monitor: StatusMonitor
    let bus = NotificationBus()
    private let clock = Clock()
    private static let epoch = Epoch.random()

    init(servers: [String] = ["a", "b"], capacities: ClosedRange<Int> = 64...64) {
        let clock = clock
        monitor = StatusMonitor(epoch: Self.epoch, capacities: capacities, bus: bus) {
            let time = clock.milliseconds.withLock { $0 }
            return Moment(wall: Timestamp(milliseconds: time), boot: .milliseconds(time))
        }
        for server in servers { monitor.add(ServerDefinition(name: name(server), source: "push")) }
    }

    private final class Clock: Sendable { let milliseconds = Mutex<Int64>(0) }

    func advance(by milliseconds: Int64) { clock.milliseconds.withLock { $0 += milliseconds } }

    func post(_ text: String, to server: String, level: Level = .ok) throws {
        try monitor.post(try StatusText(text), level: level, to: name(server))
    }

    func watch(
        _ target: WatchTarget = .selected, updates: Bool = false, since: Int? = nil, epoch: Epoch = epoch,
        onEvents: @escaping @Sendable (WatchUrgency) -> Void = { _ in }
    ) throws -> Watch {
        try monitor.watch(
            target, updates: updates, since: since.map { Cursor(epoch: epoch, revision: $0) }, onEvents: onEvents)
    }
}

/// A name that is known to be valid.
func name(_ text: String) -> ServerName {
    guard let name = ServerName(text) else { preconditionFailure("\(text) is no name") }
    return name
}

extension Watch {
    /// All events that can be read now, as `kind server text`.
    func lines() -> [String] {
        var lines: [String] = []
        while let event = next() {
            while nextServers(limit: 100) != nil {}
            if let missed = event.missed {
                lines.append("\(event.kind) \(missed)")
            } else {
                lines.append("\(event.kind) \(event.server.map { "\($0.name) \($0.headline)" } ?? "-")")
            }
        }
        return lines
    }
}
