// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

/// The service manager on the system bus, org.freedesktop.systemd1(5): what it says unasked, and calls to it.
///
/// The manager may leave the bus and come back (`daemon-reexec`, a bus that was started again); it is waited for a while.
@EventLoop
final class ManagerConnection {
    /// What the manager says unasked.
    enum Signal {
        /// Properties of one interface of a unit's object changed, some of which the message may only name.
        case changed(path: String, interface: String, BusMessage)
        /// A unit was loaded or unloaded, perhaps by a call of this process.
        case loaded(unit: String)
        /// A job has ended without the unit having been started, though that was asked for.
        case notStarted(unit: String, UnitProperties.StartFailure)
        /// Each unit may have become another one, and signals may have been missed.
        case reloaded
        /// Others have sent something that nobody asked for, or had the manager send much: of so much of it that the bus's queue for this
        /// process is full, the manager's signals are dropped; and a manager that is kept busy sends its own late.
        case disturbed
        /// An answer to a question of this moment was late: the manager, or the bus, is busy, and may send no signals. That is the case while
        /// many units are read.
        case late(ContinuousClock.Instant)
        /// The bus has had no room for a call; others may be made again.
        case resumed
        /// The manager has answered for the first time.
        case works
        /// There will be no other signal and no reply: why, one phrase.
        case lost(String)
    }

    /// What a call came to.
    enum Reply {
        case answer(BusMessage)
        /// The manager, or the bus, would not, and has said why.
        case refusal(BusMessage.Failure)
        /// There is no manager for now, or no room for the call; ``Signal/reloaded`` or ``Signal/resumed`` tells when to try again, or
        /// ``Signal/lost(_:)`` that there is nobody to ask.
        case nobody
    }

    /// Why calls have to wait.
    private enum Pause {
        /// Who fills the bus's queue for the manager, as any user can, has the bus refuse what others send. That is no answer.
        case refused
        /// The manager is not there, for this reason.
        case absent(String)
    }

    private enum Names {
        static let properties = "org.freedesktop.DBus.Properties"
        static let peer = "org.freedesktop.DBus.Peer"
        static let manager = "org.freedesktop.systemd1"
        static let managerInterface = "org.freedesktop.systemd1.Manager"
        static let managerPath = "/org/freedesktop/systemd1"
        static let unitPath = "/org/freedesktop/systemd1/unit"
    }

    /// How long the manager, or the bus, may take for what.
    struct Times {
        /// How long a manager may be off the bus before that counts: longer than it takes to execute itself again.
        var absence = Duration.seconds(5)
        /// How often it is asked whether it is there: the bus, or the manager, may stop without leaving, or be kept busy by others.
        var betweenPings = Duration.seconds(5)
        /// How long it may take to answer a call: what it is about to say may be as old.
        var answer = Duration.seconds(10)
        /// How long the bus may have no room for reading a unit.
        var patience = Duration.seconds(10)
        /// For how long nothing is reported after a disturbance has been (``BusTrust``).
        var afterDisturbance = Duration.seconds(1)
        /// The pause between two readings of all units while others disturb, beside what it takes to read them.
        var betweenReadings = Duration.seconds(2)
        /// The pause before what the bus has refused is tried again.
        var afterRefusal = Duration.milliseconds(500)
    }

    /// The errors of the bus, or of sd-bus, that say that the manager is not there, or does not answer.
    private static let absences: Set<String> = [
        "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.ServiceUnknown",
        "org.freedesktop.DBus.Error.NameHasNoOwner", "org.freedesktop.DBus.Error.Timeout",
        "org.freedesktop.DBus.Error.TimedOut", "org.freedesktop.DBus.Error.Disconnected",
    ]

    /// An answer as late as this means that the manager, or the bus, may be kept busy.
    ///
    /// While more than 1024 messages wait to be sent, the manager goes on answering and sends no signals (MANAGER_BUS_BUSY_THRESHOLD in
    /// systemd's src/core/manager.c). They do not wait before 8 MiB fill its socket: an answer behind that much is later.
    private static let lateAnswer = Duration.milliseconds(20)

    /// The errors of the bus that say that there is no room for a call.
    private static let shortages: Set<String> = [
        "org.freedesktop.DBus.Error.LimitsExceeded", "org.freedesktop.DBus.Error.NoMemory",
    ]

    /// The errors that are an answer to a subscription: there is one already, as after `daemon-reexec`; or the policy forbids it, and will go on to.
    private static let subscriptionAnswers: Set<String> = [
        "org.freedesktop.systemd1.AlreadySubscribed", "org.freedesktop.DBus.Error.AccessDenied",
    ]

    /// Whether the manager has ever answered on this connection.
    private(set) var hasWorked = false
    /// Whether calls have to wait.
    var isPaused: Bool { pause != nil }

    private var connection: BusConnection?
    /// How often the name has changed hands.
    private var ownerCount = 0
    private var pause: Pause?
    /// Whether the manager, as it is now, could not be asked for signals, or has failed to take that down.
    private var isSubscriptionDue = false
    private let times: Times
    private var timer: TimerSource?
    private var pingTimer: TimerSource?
    private let handler: @EventLoop (Signal) -> Void

    /// Begins to connect to be told of the units that `filter` lets pass; the matches come before the subscription and that before any call, so that no change is missed.
    ///
    /// Where the subscription fails, it is tried again, and then everything is read again.
    init(
        on address: String, filter: BusFilter, times: Times = Times(), handler: @escaping @EventLoop (Signal) -> Void
    ) throws(IOError) {
        self.handler = handler
        self.times = times
        timer = try TimerSource { [weak self] in self?.patienceEnds() }
        pingTimer = try TimerSource(accuracy: .seconds(1)) { [weak self] in self?.ping() }
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
        subscribe()
    }

    /// Asks whether a unit is loaded, without loading it; the answer tells nothing else.
    func getUnit(_ name: String, reply: @escaping @EventLoop (Reply) -> Void) {
        call(Names.managerPath, Names.managerInterface, "GetUnit", [name], reply: reply)
    }

    /// Asks for all properties of a unit, which is loaded for it where it is not; the answer is an `a{sv}`.
    ///
    /// No interface's name stands for all interfaces, as in systemctl(1): one answer, of one moment.
    func getProperties(path: String, reply: @escaping @EventLoop (Reply) -> Void) {
        call(path, Names.properties, "GetAll", [""], reply: reply)
    }

    /// Asks for the states of all units that are loaded, at once.
    func listUnits(reply: @escaping @EventLoop (Reply) -> Void) {
        call(Names.managerPath, Names.managerInterface, "ListUnits", [], reply: reply)
    }

    /// Ends the connection; nothing is signalled or replied any more.
    func close() {
        timer?.cancel()
        pingTimer?.cancel()
        connection?.close()
        connection = nil
    }

    private func subscribe() {
        isSubscriptionDue = false
        let owner = ownerCount
        call(Names.managerPath, Names.managerInterface, "Subscribe", []) { [weak self] reply in
            guard let self, owner == ownerCount else { return }
            isSubscriptionDue = Self.isDue(after: reply)
        }
    }

    /// Whether a subscription has to be tried again: a manager that is kept busy may fail, and have nobody subscribed.
    private static func isDue(after reply: Reply) -> Bool {
        switch reply {
        case .answer: false
        case .refusal(let failure): !subscriptionAnswers.contains(failure.name)
        case .nobody: true
        }
    }

    private func ping() {
        pingTimer?.schedule(after: times.betweenPings)
        guard !isPaused else { return }
        if isSubscriptionDue { start() }
        let begin = ContinuousClock.now
        call(Names.managerPath, Names.peer, "Ping", []) { [weak self] reply in
            // What there is to do if it does not answer, is done for every call.
            guard case .answer = reply, ContinuousClock.now - begin > Self.lateAnswer else { return }
            self?.handler(.late(begin))
        }
    }

    private func call(
        _ path: String, _ interface: String, _ member: String, _ arguments: [String],
        reply: @escaping @EventLoop (Reply) -> Void
    ) {
        let calledOwner = ownerCount
        let end = SuspendingClock.now + times.answer
        connection?.call(path, interface, member, arguments, within: times.answer) { [weak self] message in
            guard let self else { return }
            // The bus lets nobody reply but who was called, or itself: it has no unique name.
            if let failure = message.failure, message.sender?.first != ":" {
                let isShort = Self.shortages.contains(failure.name)
                // What its policy forbids, it will go on to forbid.
                guard isShort || Self.absences.contains(failure.name) else { return reply(.refusal(failure)) }
                reply(.nobody)
                // A manager that executed itself takes the name before the bus notices that the old one is gone, with its calls.
                if calledOwner == ownerCount { noteNoAnswer(isTimeUp: end <= .now, failure) }
                return
            }
            if calledOwner == ownerCount { noteAnswer() }
            reply(message.failure.map { .refusal($0) } ?? .answer(message))
        }
    }

    private func take(_ event: BusConnection.Event) {
        switch event {
        case .signal(let message): take(message)
        case .disturbed: handler(.disturbed)
        case .lost(let reason): handler(.lost(reason))
        }
    }

    private func take(_ message: BusMessage) {
        switch message.member {
        case "NameOwnerChanged": ownerChanged(message.strings)
        case "PropertiesChanged":
            guard let path = message.path, let interface = message.strings.first else { return }
            handler(.changed(path: path, interface: interface, message))
        case "Reloading": if message.truth == false { handler(.reloaded) }
        case "UnitFilesChanged": handler(.reloaded)
        case "JobRemoved":
            if let (unit, failure) = message.startFailure { handler(.notStarted(unit: unit, failure)) }
        case "UnitNew", "UnitRemoved": if let unit = message.strings.first { handler(.loaded(unit: unit)) }
        default: return
        }
    }

    /// - Parameter names: the name that has changed hands, who had it, and who has it now.
    private func ownerChanged(_ names: [String]) {
        guard names.count == 3, names[0] == Names.manager else { return }
        guard !names[2].isEmpty else { return leave("the service manager has left the system bus") }
        ownerCount += 1
        endPause()
        start()
    }

    /// Asks for signals, and after that for what may have been missed.
    private func start() {
        subscribe()
        handler(.reloaded)
    }

    private func noteAnswer() {
        if hasWorked { return }
        hasWorked = true
        handler(.works)
    }

    private func noteNoAnswer(isTimeUp: Bool, _ failure: BusMessage.Failure) {
        if isTimeUp {
            // What is silent for so long is not waited for once more.
            giveUp("the service manager does not answer within \(times.answer.components.seconds) s")
        } else if Self.absences.contains(failure.name) {
            leave("the service manager does not answer: \(failure.message)")
        } else if pause == nil {
            pause = .refused
            timer?.schedule(after: times.afterRefusal)
        }
    }

    private func leave(_ reason: String) {
        if case .absent = pause { return }
        pause = .absent(reason)
        timer?.schedule(after: times.absence)
    }

    private func patienceEnds() {
        switch pause {
        case .absent(let reason): giveUp(reason)
        case .refused: resume()
        case nil: break
        }
    }

    private func resume() {
        endPause()
        if isSubscriptionDue { start() } else { handler(.resumed) }
    }

    private func endPause() {
        pause = nil
        timer?.stop()
    }

    private func giveUp(_ reason: String) {
        close()
        handler(.lost(reason))
    }
}
