// SPDX-License-Identifier: Apache-2.0

/// What a conversation with the service manager reports unasked.
enum ManagerSignal: Equatable {
    /// Properties of one interface of a unit's object changed, some of which the message may only name.
    case changed(path: String, interface: String, BusMessage)
    /// A unit was loaded or unloaded, perhaps by a call of this process.
    case loaded(unit: String)
    /// The states of all loaded units that are followed, after ``ManagerConnection/list()``.
    case listed([String: ListedStates])
    /// A job has ended without the unit having been started, though that was requested.
    case notStarted(unit: String, UnitProperties.StartFailure)
    /// Each unit may have become another one, and signals may have been missed.
    case reloaded
    /// Others have sent something unasked, or had the manager send much: once the bus's queue for this process is full, the manager's signals
    /// are dropped; and a manager that is kept busy sends its own late.
    case disturbed
    /// An answer to a question of this moment was late: the manager, or the bus, is busy, and may send no signals. That is the case while
    /// many units are read.
    case late(ContinuousClock.Instant)
    /// The bus has refused a call; calls may be made again.
    case resumed
    /// The manager has answered.
    case works
    /// There will be no other signal and no reply: why, one phrase.
    case lost(String)

    /// What a signal of the service manager says; nil if that is of no use here.
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

/// What a call to the service manager came to.
enum ManagerReply: Equatable {
    case answer(BusMessage)
    /// The manager, or the bus, refused, and has said why.
    case refusal(BusMessage.Failure)
    /// There is no manager for now, or no room for the call; ``ManagerSignal/reloaded`` or ``ManagerSignal/resumed`` tells when to try again,
    /// or ``ManagerSignal/lost(_:)`` that there is nobody to ask.
    case nobody(ManagerStateMachine.Silence)

    private static let errors = "org.freedesktop.DBus.Error."
    /// The errors of the bus that say that there is no room for a call.
    private static let shortages: Set = [errors + "LimitsExceeded", errors + "NoMemory"]
    /// The errors of the bus, or of sd-bus, that say that the manager is not there, or does not answer.
    private static let absences = Set(
        ["NoReply", "ServiceUnknown", "NameHasNoOwner", "Timeout", "TimedOut", "Disconnected"].map { errors + $0 })
    /// The errors that answer a subscription: there is one already, as after `daemon-reexec`; or the policy forbids it, and always will.
    private static let subscriptionAnswers: Set = [
        "org.freedesktop.systemd1.AlreadySubscribed", errors + "AccessDenied",
    ]

    init(_ message: BusMessage) {
        guard let failure = message.failure else {
            self = .answer(message)
            return
        }
        // The bus lets nobody reply but who was called, or itself: it has no unique name.
        let isFromManager = message.sender?.first == ":"
        if !isFromManager, Self.shortages.contains(failure.name) {
            self = .nobody(.refused)
        } else if !isFromManager, Self.absences.contains(failure.name) {
            self = .nobody(.absent(failure.message))
        } else {
            // What the bus's policy forbids, it will go on to forbid.
            self = .refusal(failure)
        }
    }

    /// Whether, as the answer to a subscription, it means that the manager has to be asked again: one that is kept busy may fail, and have nobody
    /// subscribed.
    var leavesSubscriptionDue: Bool {
        switch self {
        case .answer: false
        case .refusal(let failure): !Self.subscriptionAnswers.contains(failure.name)
        case .nobody: true
        }
    }
}
