// SPDX-License-Identifier: Apache-2.0

import StatusConfiguration
import StatusInterface
import StatusModel
import StatusMonitor
import Varlink

/// Other hosts, and the reports of their servers.
extension ControlInterface {
    func hosts(_ call: MonitorCall<HostsReply>) {
        var hasBegun = false
        var names = monitor.hostNames[...]
        call.reply(inPieces: { [monitor] writer in
            if !hasBegun { writer.beginArray("hosts") }
            hasBegun = true
            for host in names.prefix(EventStream.serversPerPiece).compactMap({ monitor.host($0) }) {
                writer.value(MonitorInterface.Host(host))
            }
            names = names.dropFirst(EventStream.serversPerPiece)
            if names.isEmpty { writer.endArray() }
            return !names.isEmpty
        })
    }

    /// More than any two clocks differ, in milliseconds: 10,000 years.
    private static let longestDifference = 316_000_000_000_000

    func reportHost(_ parameters: ReportHostParameters, _ call: MonitorCall<NoMembers>) throws {
        let report = parameters.state.map { state in
            HostReport(
                state: state, epoch: parameters.epoch, machine: parameters.machine.map(Self.label),
                version: parameters.version.map(Self.label),
                clockDifference: parameters.clockDifference.map {
                    .milliseconds(min(max($0, -Self.longestDifference), Self.longestDifference))
                })
        }
        try registry.report(report, of: parameters.host)
        call.reply()
    }

    func reportServer(_ parameters: ReportServerParameters, _ call: MonitorCall<NoMembers>) throws {
        guard var state = parameters.server else {
            monitor.removeReported(parameters.name, of: parameters.host)
            return call.reply()
        }
        state.name = parameters.name
        state.limitTexts()
        try registry.report(state, of: parameters.host, epoch: parameters.epoch)
        call.reply()
    }

    func endReport(_ call: MonitorCall<EndReportReply>) {
        call.reply(EndReportReply(removed: monitor.endReportPass().map(\.rawValue)))
    }

    func getMQTT(_ call: MonitorCall<GetMQTTReply>) throws {
        guard call.wantsMore else { throw MonitorError.service(.expectedMore) }
        var last: MQTTSettings??
        let id = ObjectIdentifier(call.untyped)
        let stream = call.stream(
            { [registry] in
                let settings = registry.configuration.mqtt
                if last == .some(settings) { return nil }
                last = .some(settings)
                return GetMQTTReply(mqtt: settings.map { MonitorInterface.MQTT($0) })
            }, onClose: { self.settingsStreams[id] = nil })
        settingsStreams[id] = stream
        stream.wake()
    }

    /// Called after each reload.
    func settingsMayDiffer() { for stream in settingsStreams.values { stream.wake() } }

    /// A short line of another host.
    private static func label(_ text: String) -> String { VisibleText.excerpt(text, bytes: longestLabel) }

    private static let longestLabel = 64
}

extension ServerState {
    /// Cuts what another host says of a server to what a server of this host may say.
    fileprivate mutating func limitTexts() {
        (description, message) = (description.flatMap(Self.line), message.flatMap(Self.line))
        values = values.prefix(MeasuredValue.maximumCount).filter { value in
            [value.name, value.unit].allSatisfy { $0.utf8.count <= MeasuredValue.maximumBytes }
        }
        if let silence, silence.reason?.utf8.count ?? 0 > Silence.longestReason {
            self.silence = Silence(since: silence.since, until: silence.until)
        }
        if phase == .loaded, status == nil { phase = .empty }
    }

    private static func line(_ text: String) -> String? { StatusText(fitting: text)?.rawValue }
}

extension MonitorInterface.Host {
    init(_ host: Host) {
        self.init(
            name: host.name.rawValue, state: host.state, since: host.since.description,
            heardAt: host.heardAt.description, clockDifference: host.clockDifference.map { Int($0 / .milliseconds(1)) },
            version: host.version, servers: host.servers, worst: host.worst)
    }
}

extension MonitorInterface.MQTT {
    init(_ settings: MQTTSettings) {
        self.init(
            broker: settings.brokers.map(\.description), host: settings.host, publish: settings.publish,
            follow: settings.follow.map(\.description), user: settings.user, discovery: settings.discovery?.rawValue)
    }
}

extension MonitorError {
    init(_ error: HostReportError) {
        switch error {
        case .otherMachine(let host): self = .otherMachine(host: host.rawValue)
        case .nameTooLong(let name, let host):
            self = .reportRefused(
                reason: "\(name)@\(host) is longer than \(ServerName.maximumLength) bytes; shorten one of the names")
        case .isLocal(let name):
            self = .reportRefused(reason: "\(name) is a server of this host; rename it, or do not follow that one")
        case .tooManyServers(let host, let limit):
            self = .reportRefused(reason: "\(host) has more than \(limit) servers")
        case .full(let limit): self = .limitReached(limit: "servers", value: limit)
        }
    }
}
