// SPDX-License-Identifier: Apache-2.0

/// An event of the connection to the service manager.
enum ManagerSignal: Equatable {
    /// Properties of one interface of a unit changed; for some, the message has only the name.
    case changed(path: String, interface: String, BusMessage)
    /// A unit was loaded or unloaded, perhaps by a call of this process.
    case loaded(unit: String)
    /// The states of all loaded units that are followed, after ``ManagerConnection/list()``.
    case listed([String: ListedStates])
    /// A job has ended without starting the unit.
    case notStarted(unit: String, UnitProperties.StartFailure)
    /// Each unit may have changed, and signals may have been missed.
    case reloaded
    /// Other processes sent messages or made the manager send many signals.
    ///
    /// If the bus's queue for this process is full, the manager's signals are dropped; and a busy manager sends its
    /// signals late.
    case disturbed
    /// The answer to a call made at this time was late: the manager or the bus is busy, and may send no signals.
    ///
    /// Reading many units causes that, too.
    case late(ContinuousClock.Instant)
    /// Calls can be made again after the bus refused one.
    case resumed
    /// The manager has answered.
    case works
    /// The connection is lost, for this reason as one phrase; no signal or reply follows.
    case lost(String)

    /// Interprets a signal of the service manager; nil if it is of no use here.
    init?(_ message: BusMessage) {
        switch message.member {
        case "PropertiesChanged":
            guard let path = message.path, let interface = message.strings.first else { return nil }
            self = .changed(path: path, interface: interface, message)
        case "Reloading" where message.truth == false, "UnitFilesChanged": self = .reloaded
        case "JobRemoved":
            guard let (unit, failure) = message.startFailure else { return nil }
            self = .notStarted(unit: unit, failure)
        case "UnitNew", "UnitRemoved":
            guard let unit = message.strings.first else { return nil }
            self = .loaded(unit: unit)
        default: return nil
        }
    }
}

/// The result of a call to the service manager.
enum ManagerReply: Equatable {
    case answer(BusMessage)
    /// The manager or the bus refused, for a reason.
    case refusal(BusMessage.Failure)
    /// No manager received the call; ``ManagerSignal/reloaded`` or ``ManagerSignal/resumed`` reports when to repeat it.
    ///
    /// ``ManagerSignal/lost(_:)`` reports that it cannot be repeated.
    case nobody(ManagerStateMachine.Silence)

    private static let errors = "org.freedesktop.DBus.Error."
    /// The errors of the bus that mean that it has no room for a call.
    private static let shortages: Set = [errors + "LimitsExceeded", errors + "NoMemory"]
    /// The errors of the bus or of sd-bus that mean that the manager is missing or does not answer.
    private static let absences = Set(
        ["NoReply", "ServiceUnknown", "NameHasNoOwner", "Timeout", "TimedOut", "Disconnected"].map { errors + $0 })
    /// The errors that make another subscription useless: there is one, as after `daemon-reexec`, or the policy forbids
    /// it.
    private static let subscriptionAnswers: Set = [
        "org.freedesktop.systemd1.AlreadySubscribed", errors + "AccessDenied",
    ]

    init(_ message: BusMessage) {
        guard let failure = message.failure else {
            self = .answer(message)
            return
        }
        // Errors of the bus itself have no unique name as sender.
        let isFromManager = message.sender?.first == ":"
        if !isFromManager, Self.shortages.contains(failure.name) {
            self = .nobody(.refused)
        } else if !isFromManager, Self.absences.contains(failure.name) {
            self = .nobody(.absent(failure.message))
        } else {
            // This includes calls that the bus's policy forbids.
            self = .refusal(failure)
        }
    }

    /// Whether a subscription with this result must be repeated: a busy manager may fail to subscribe.
    var leavesSubscriptionDue: Bool {
        switch self {
        case .answer: false
        case .refusal(let failure): !Self.subscriptionAnswers.contains(failure.name)
        case .nobody: true
        }
    }
}
