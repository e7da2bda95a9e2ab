// SPDX-License-Identifier: Apache-2.0

import StatusConfiguration
import StatusInterface
import StatusModel
import StatusMonitor
import Synchronization

@testable import StatusMQTT

/// What a broker sends to a host that follows all others, from whoever may write there.
enum BrokerFuzzing {
    /// Messages end with a zero byte: one of flags, the topic, a line feed, and the payload.
    static func check(_ input: [UInt8]) {
        let hub = Hub()
        for message in input.split(separator: 0) { hub.take(message) }
        hub.checkStates()
        hub.checkReturn()
    }
}

/// A monitor with the reader of messages in front of it, as a hub.
private final class Hub {
    private static let host = ServerName("web1")
    private static let machine = String(repeating: "1", count: 32)

    private let time = Clock()
    private let monitor: StatusMonitor
    private var reader = FollowReader([FollowPattern("*")].compactMap { $0 }, own: "hub")
    private let epochs = EpochCounter(directory: nil)
    private var ownership = Ownership(machine: Hub.machine)

    init() {
        monitor = StatusMonitor { [time] in time.now }
        _ = ownership.looked()
    }

    func take(_ bytes: ArraySlice<UInt8>) {
        guard let flags = bytes.first, let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return }
        time.advance(by: .seconds(Int64(flags >> 2)))
        let topic = String(decoding: bytes[..<end].dropFirst(), as: UTF8.self)
        let payload = bytes[end...].dropFirst()
        take(IncomingMessage(topic: topic, payload: Array(payload), isRetained: flags & 1 == 1))
        if flags & 2 == 2 { _ = monitor.endReportPass() }
    }

    private func take(_ message: IncomingMessage) {
        guard let topic = Topic(message.topic) else { return }
        expect(topic.text == message.topic, "a topic is read as it is")
        hear(message, topic)
        guard case .report(let report) = reader.read(message, topic, now: time.now.boot, wall: time.now.wall) else {
            return
        }
        expect(report.host.rawValue == topic.host, "a message is of the host of its topic")
        switch report {
        case .host(let host, let presence, let difference):
            let report = presence.map { presence in
                HostReport(
                    state: presence.state, epoch: presence.epoch, machine: presence.machine, version: presence.version,
                    clockDifference: difference.map { .milliseconds($0) })
            }
            try? monitor.report(report, of: host, limit: 1000)
        case .server(let host, let name, let epoch, let state):
            guard let state else { return monitor.removeReported(name, of: host) }
            expect(state.name == name, "a status is that of the server of its topic")
            try? monitor.report(state, of: host, epoch: epoch, limit: 1000)
        }
    }

    /// What the host itself notes of messages below its name.
    private func hear(_ message: IncomingMessage, _ topic: Topic) {
        guard topic.host == Self.host?.rawValue else { return }
        switch topic {
        case .presence:
            let presence = Presence.read(message.payload, at: time.now.wall)
            if let presence { epochs.saw(presence.epoch) }
            _ = ownership.heard(presence, now: time.now.boot)
        case .claim: _ = Claim.machine(in: message.payload)
        case .server:
            if let version = StateVersion.read(message.payload, at: time.now.wall) { epochs.saw(version.epoch) }
        }
    }

    func checkStates() {
        for state in monitor.states {
            if let text = state.status?.text { TextProperties.expectValid(text) }
            guard let host = state.name.host else { continue }
            let isReady = monitor.host(host)?.state == .ready
            expect(state.isStale || isReady, "a server is current only if its host is ready")
        }
    }

    /// Whatever was written below a host's name, the host can say something newer.
    func checkReturn() {
        guard let host = Self.host, let db = ServerName("db"), let name = ServerName(db, on: host) else { return }
        // A machine that is ready under this name keeps it until it has been silent for too long.
        time.advance(by: .seconds(200))
        for _ in 0..<64 { monitor.expire() }
        let epoch = epochs.next()
        ownership.connected(epoch: epoch)
        let presence = Presence(state: .ready, epoch: epoch, machine: Self.machine, at: time.now.wall)
        let topic = Topic.presence(host: host.rawValue).text
        take(IncomingMessage(topic: topic, payload: presence.payload, isRetained: false))
        var machine = PublishMachine(host: host.rawValue, patterns: ["*"], epoch: epoch)
        var state = ServerState(name: db, source: "push", phase: .loaded)
        let now = time.now.wall
        state.status = Status(
            text: StatusText(label: "true"), level: .ok, changedAt: now, levelChangedAt: now, updatedAt: now)
        machine.take(
            Event(kind: .snapshot, cursor: Cursor(epoch: .none, revision: 1), server: nil, servers: [state]))
        while let message = machine.next() {
            take(IncomingMessage(topic: message.topic, payload: message.payload, isRetained: false))
        }
        let shown = try? monitor.state(of: name)
        expect(shown?.status?.text.rawValue == "true" && shown?.isStale == false, "a host can put right what it shows")
    }
}

/// A clock that only the input advances.
private final class Clock: Sendable {
    private let offset = Mutex(Duration.zero)

    var now: Moment {
        let offset = offset.withLock { $0 }
        let wall = Timestamp(milliseconds: Self.start.wall.milliseconds + Int64(offset / .milliseconds(1)))
        return Moment(wall: wall, boot: Self.start.boot + offset)
    }

    func advance(by duration: Duration) { offset.withLock { $0 += duration } }

    private static let start = Moment.now()
}
