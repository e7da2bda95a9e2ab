// SPDX-License-Identifier: Apache-2.0

import StatusAlerts
import StatusConfiguration
import StatusInterface
import StatusModel
import StatusMonitor
import Varlink

/// Silences, and the receivers of alerts.
extension ControlInterface {
    func silence(_ parameters: SilenceParameters, _ call: MonitorCall<SilenceReply>) throws {
        let now = Moment.now().wall
        let latest = now + Silence.longest
        if let until = parameters.until, until <= now || until > latest {
            throw MonitorError.invalidSilence(
                reason: until <= now ? "\(until) has passed" : "it may last a year, until \(latest)")
        }
        let reason = parameters.reason.flatMap { StatusText(fitting: $0)?.rawValue }
        if let reason, reason.utf8.count > Silence.longestReason {
            throw MonitorError.invalidSilence(reason: "the reason is longer than \(Silence.longestReason) bytes")
        }
        let caller = Caller(call)
        let silence = Silence(since: now, until: parameters.until, user: caller.user, reason: reason)
        // The silence of a server that is ok would end at once.
        let states = try states(of: parameters.servers).filter { silence.until != nil || $0.countedLevel != .ok }
        for state in states { try monitor.silence(state.name, silence, by: caller) }
        call.reply(SilenceReply(silenced: states.map(\.name.rawValue)))
    }

    func unsilence(_ parameters: UnsilenceParameters, _ call: MonitorCall<UnsilenceReply>) throws {
        let states = try states(of: parameters.servers).filter { $0.silence != nil }
        for state in states { try monitor.silence(state.name, nil, by: Caller(call)) }
        call.reply(UnsilenceReply(unsilenced: states.map(\.name.rawValue)))
    }

    /// The states of these servers, all of which must exist; nil means all.
    private func states(of names: [String]?) throws -> [ServerState] {
        try names.map { names in try names.map { try monitor.state(of: try known($0)) } } ?? monitor.states
    }

    func alerts(_ call: MonitorCall<AlertsReply>) { call.reply(AlertsReply(receivers: dispatcher.receivers)) }

    func testAlerts(_ parameters: TestAlertsParameters, _ call: MonitorCall<TestAlertsReply>) throws {
        var receivers = registry.configuration.receivers
        if let name = parameters.receiver {
            guard let receiver = receivers[name] else {
                throw MonitorError.noSuchReceiver(receiver: VarlinkError.shortened(name))
            }
            receivers = [name: receiver]
        }
        call.perform { [dispatcher] call in
            var tests: [MonitorInterface.AlertTest] = []
            for (name, receiver) in receivers.sorted(by: { $0.key < $1.key }) {
                tests.append(await dispatcher.test(name, receiver))
            }
            call.reply(TestAlertsReply(tests: tests))
        }
    }
}

extension MonitorInterface.Untold {
    /// - Parameter time: converts a time since boot.
    init(_ untold: StatusAlerts.Untold, _ time: (Duration) -> Timestamp) {
        var (hold, parent, until) = (MonitorInterface.Hold?.none, String?.none, String?.none)
        switch untold.hold {
        case nil: break
        case .silenced: hold = .silenced
        case .parent(let name): (hold, parent) = (.parent, name.rawValue)
        case .result(let name): (hold, parent) = (.result, name == untold.server ? nil : name.rawValue)
        case .until(let end): (hold, until) = (.time, time(end).description)
        }
        self.init(server: untold.server.rawValue, level: untold.level, hold: hold, parent: parent, until: until)
    }
}
