// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

/// The service manager on the system bus (org.freedesktop.systemd1(5)): its signals, and calls to it.
///
/// ``ManagerStateMachine`` makes the decisions.
@EventLoop
final class ManagerConnection {
    private enum Names {
        static let properties = "org.freedesktop.DBus.Properties"
        static let peer = "org.freedesktop.DBus.Peer"
        static let manager = "org.freedesktop.systemd1"
        static let managerInterface = "org.freedesktop.systemd1.Manager"
        static let managerPath = "/org/freedesktop/systemd1"
        static let unitPath = "/org/freedesktop/systemd1/unit"
    }

    /// Whether calls must wait.
    var isPaused: Bool { machine.isPaused }

    private var machine: ManagerStateMachine
    private var connection: BusConnection?
    private let times: BusTimes
    private var timer: TimerSource?
    private var pingTimer: TimerSource?
    private let handler: @EventLoop (ManagerSignal) -> Void

    /// Begins to connect, and requests the signals of all units; `filter` decides which of them reach the handler.
    ///
    /// The matches come before the subscription, and that before any call, so no change is missed. A subscription that
    /// fails is repeated, and then everything is read again.
    init(
        on address: String, filter: BusFilter, times: BusTimes, handler: @escaping @EventLoop (ManagerSignal) -> Void
    ) throws(IOError) {
        machine = ManagerStateMachine(times)
        self.handler = handler
        self.times = times
        timer = try TimerSource { [weak self] in self?.timerFired() }
        pingTimer = try TimerSource(accuracy: .seconds(1)) { [weak self] in self?.pingDue() }
        pingTimer?.schedule(after: times.betweenPings)
        let settings = BusSettings(
            address: address, service: Names.manager, wanted: UnitProperties.names, filter: filter)
        let connection = try BusConnection(settings) { [weak self] event in self?.take(event) }
        self.connection = connection
        connection.addMatch(
            "type='signal',sender='\(BusTrust.busName)',interface='\(BusTrust.busName)'"
                + ",member='NameOwnerChanged',arg0='\(Names.manager)'")
        connection.addMatch(
            "type='signal',sender='\(Names.manager)',path_namespace='\(Names.unitPath)'"
                + ",interface='\(Names.properties)',member='PropertiesChanged'")
        for member in ["Reloading", "UnitFilesChanged", "UnitNew", "UnitRemoved", "JobRemoved"] {
            connection.addMatch(
                "type='signal',sender='\(Names.manager)',path='\(Names.managerPath)'"
                    + ",interface='\(Names.managerInterface)',member='\(member)'")
        }
        perform(.subscribe)
    }

    /// Asks whether a unit is loaded, without loading it.
    func getUnit(_ name: String, reply: @escaping @EventLoop (ManagerReply) -> Void) {
        callManager("GetUnit", [name]) { reply($1) }
    }

    /// Requests all properties of a unit as an `a{sv}`; the manager loads the unit for it if necessary.
    ///
    /// An empty interface name means all interfaces, as in systemctl(1): one answer, of one moment.
    func getProperties(path: String, reply: @escaping @EventLoop (ManagerReply) -> Void) {
        call(path, Names.properties, "GetAll", [""]) { reply($1) }
    }

    /// Requests the states of all loaded units.
    ///
    /// If an older request is unanswered, another follows its answer.
    func list() { perform(machine.listDue()) }

    /// Ends the connection; no handler is called after this.
    func close() {
        machine.end()
        timer?.cancel()
        pingTimer?.cancel()
        connection?.close()
        connection = nil
    }

    private func timerFired() { perform(machine.timerFired()) }

    private func pingDue() {
        pingTimer?.schedule(after: times.betweenPings)
        perform(machine.pingDue())
    }

    private func perform(_ effects: [ManagerStateMachine.Effect]) { for effect in effects { perform(effect) } }

    private func perform(_ effect: ManagerStateMachine.Effect) {
        switch effect {
        case .subscribe:
            callManager("Subscribe") { [weak self] call, reply in
                self?.machine.subscribed(call, isDue: reply.leavesSubscriptionDue)
            }
        case .ping: ping()
        case .list:
            callManager("ListUnits") { [weak self] _, reply in
                guard let self else { return }
                if case .answer(let message) = reply { handler(.listed(message.units)) }
                perform(machine.listed())
            }
        case .wait(let time): timer?.schedule(after: time)
        case .tell(let signal):
            if case .lost = signal { close() }
            handler(signal)
        }
    }

    private func ping() {
        let begin = ContinuousClock.now
        call(Names.managerPath, Names.peer, "Ping") { [weak self] _, reply in
            // A missing answer is handled as for every call.
            guard case .answer = reply, ContinuousClock.now - begin > BusTimes.lateAnswer else { return }
            self?.handler(.late(begin))
        }
    }

    private func callManager(
        _ member: String, _ arguments: [String] = [],
        reply: @escaping @EventLoop (ManagerStateMachine.Call, ManagerReply) -> Void
    ) {
        call(Names.managerPath, Names.managerInterface, member, arguments, reply: reply)
    }

    private func call(
        _ path: String, _ interface: String, _ member: String, _ arguments: [String] = [],
        reply: @escaping @EventLoop (ManagerStateMachine.Call, ManagerReply) -> Void
    ) {
        let call = machine.called(at: .now)
        let busCall = BusCall(
            destination: Names.manager, path: path, interface: interface, member: member, arguments: arguments,
            timeout: times.answer)
        connection?.send(busCall) { [weak self] message in
            guard let self else { return }
            let result = ManagerReply(message)
            guard case .nobody(let silence) = result else {
                perform(machine.answered(call))
                return reply(call, result)
            }
            reply(call, result)
            perform(machine.unanswered(call, silence, at: .now))
        }
    }

    private func take(_ event: BusThread.Event) {
        switch event {
        case .signal(let message): take(message)
        case .disturbed: handler(.disturbed)
        case .lost(let reason): handler(.lost(reason))
        case .reply: break
        }
    }

    private func take(_ message: BusMessage) {
        guard message.member == "NameOwnerChanged" else {
            if let signal = ManagerSignal(message) { handler(signal) }
            return
        }
        // The name, its former owner and its new one.
        let names = message.strings
        guard names.count == 3, names[0] == Names.manager else { return }
        perform(
            names[2].isEmpty ? machine.left("the service manager disconnected from the system bus") : machine.arrived())
    }
}
