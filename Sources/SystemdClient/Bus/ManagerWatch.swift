// SPDX-License-Identifier: Apache-2.0

import DequeModule
import EventLoopIO

/// Follows units over one connection to the system bus, on a thread that waits for each answer of the service manager
/// (org.freedesktop.systemd1(5)).
///
/// Signals that arrive while an answer is awaited are handled before it, so followers receive everything in the
/// manager's order. Only the owner of the manager's name is trusted: any user can send this process a signal that
/// looks like the manager's.
final class ManagerWatch {
    /// How long to wait for the manager.
    struct Limits {
        /// The timeout of a call.
        var answer = Duration.seconds(10)
        /// How long a manager may be off the bus: longer than `systemctl daemon-reexec` takes.
        var absence = Duration.seconds(5)
        /// How often to ping an idle manager: it or the bus may hang without disconnecting.
        var betweenPings = Duration.seconds(5)
        /// How soon after a signal the queries are asked again, so that many signals cause one listing.
        var beforeListing = Duration.milliseconds(300)
    }

    private enum Names {
        static let manager = "org.freedesktop.systemd1"
        static let managerInterface = "org.freedesktop.systemd1.Manager"
        static let managerPath = "/org/freedesktop/systemd1"
        static let unitInterface = "org.freedesktop.systemd1.Unit"
    }

    private typealias Instant = SuspendingClock.Instant

    /// The service manager, by its unique name on the bus.
    private enum Manager {
        /// It is missing, for this reason; the connection is given up if it does not return by this time.
        case absent(reason: String, until: Instant)
        /// It must be asked for signals, and all units must be read.
        case arrived(String)
        case subscribed(String)

        /// The owner of the manager's name, whose signals are trusted; nil if it is missing.
        var owner: String? {
            switch self {
            case .absent: nil
            case .arrived(let owner), .subscribed(let owner): owner
            }
        }
    }

    private let thread: UnitThread
    private let limits: Limits
    private let bus: SystemBus
    private var manager: Manager
    private var units: [String: FollowedUnit] = [:]
    /// The units that must be read.
    private var queue: Deque<FollowedUnit> = []
    private var pingTime = Instant.now
    /// The queries, and the newest request that each must answer.
    private var queries: [UnitQuery: Int] = [:]
    /// When they must be asked; nil until something changes.
    private var listingTime: Instant?

    /// Begins to connect.
    init(_ thread: UnitThread, on address: String, _ limits: Limits) throws(IOError) {
        self.thread = thread
        self.limits = limits
        bus = try SystemBus(address)
        manager = .absent(reason: "the service manager is not on the system bus", until: .now + limits.absence)
    }

    /// Follows units until the connection is lost, the manager is silent or away for too long, or the thread must end.
    ///
    /// - Parameter whenWorking: called each time the manager has begun to send signals.
    func run(whenWorking: () -> Void) throws(IOError) -> Never {
        try takeChanges(all: true)
        try listen()
        while true {
            switch manager {
            case .absent(let reason, let time):
                if .now >= time { throw IOError(.systemCall, reason) }
                try takeNext(until: time)
            case .arrived(let owner):
                if try subscribe(to: owner) { whenWorking() }
            case .subscribed(let owner):
                if let unit = queue.popFirst() {
                    try read(unit, from: owner)
                } else if let time = listingTime, .now >= time {
                    try list(from: owner)
                } else if .now >= pingTime {
                    _ = try callManager(owner, "Ping", of: "org.freedesktop.DBus.Peer")
                    pingTime = .now + limits.betweenPings
                } else {
                    try takeNext(until: min(pingTime, listingTime ?? pingTime))
                }
            }
        }
    }

    // MARK: The manager

    /// Subscribes to the manager's signals and to changes of its owner; requests the present owner.
    private func listen() throws(IOError) {
        for rule in [
            "sender='\(SystemBus.name)',member='NameOwnerChanged',arg0='\(Names.manager)'",
            "sender='\(Names.manager)',path_namespace='\(Names.managerPath)'",
        ] {
            let failure = try callBus("AddMatch", "type='signal'," + rule).failure
            if let failure { throw IOError(.systemCall, failure.message) }
        }
        let reply = try callBus("GetNameOwner", Names.manager)
        if reply.failure == nil, let owner = reply.string() { manager = .arrived(owner) }
    }

    /// Asks the manager for signals before any unit is read, so no change is missed; returns whether it sends them.
    private func subscribe(to owner: String) throws(IOError) -> Bool {
        guard let reply = try callManager(owner, "Subscribe") else { return false }
        if let failure = reply.failure, failure.name != "org.freedesktop.systemd1.AlreadySubscribed" {
            throw IOError(.systemCall, failure.message)
        }
        guard case .arrived(owner) = manager else { return false }
        manager = .subscribed(owner)
        pingTime = .now + limits.betweenPings
        thread.report(.works)
        readAll()
        return true
    }

    private func readAll() {
        for unit in units.values { ask(.read(request: 0), about: unit) }
        listSoon(after: .zero)
    }

    // MARK: Units

    private func takeChanges(all: Bool = false) throws(IOError) {
        for (subject, request) in try thread.takeChanges(all: all) {
            switch subject {
            case .unit(let name):
                guard let request else {
                    units[name] = nil
                    continue
                }
                let unit = units[name] ?? FollowedUnit(name)
                units[name] = unit
                ask(.read(request: request), about: unit)
            case .query(let query):
                queries[query] = request
                listSoon(after: .zero)
            }
        }
    }

    private func ask(_ need: FollowedUnit.Need, about unit: FollowedUnit) {
        let isNew = unit.needs(need)
        if need.request > 0 {
            // A caller waits for it. If it is in the queue already, it is skipped there later.
            queue.prepend(unit)
        } else if isNew {
            queue.append(unit)
        }
    }

    private func read(_ unit: FollowedUnit, from owner: String) throws(IOError) {
        guard units[unit.name] === unit, let need = unit.begin() else { return }
        guard let look = try callManager(owner, "GetUnit", [unit.name]) else { return ask(need, about: unit) }
        let isInMemory = look.failure == nil
        guard isInMemory || unit.mustBeLoaded(for: need) else { return }
        // An empty interface name means all interfaces, as in systemctl(1): one answer, with values of the same time.
        guard
            let reply = try callManager(
                owner, "GetAll", [""], of: "org.freedesktop.DBus.Properties", at: unit.path)
        else { return ask(need, about: unit) }
        let observation =
            if let failure = reply.failure {
                unit.refuse(failure.message)
            } else {
                unit.know(reply.properties(UnitProperties.names), isInMemory: isInMemory)
            }
        tell(observation, about: unit, answers: need.request)
    }

    private func tell(_ observation: UnitObservation, about unit: FollowedUnit, answers request: Int = 0) {
        guard units[unit.name] === unit else { return }
        thread.report(.news(.unit(unit.name), .observation(observation), answers: request))
    }

    // MARK: Queries

    /// Asks all queries again when this time has passed, unless they are asked before.
    private func listSoon(after delay: Duration) {
        let time = Instant.now + delay
        if !queries.isEmpty { listingTime = min(listingTime ?? time, time) }
    }

    private func list(from owner: String) throws(IOError) {
        listingTime = nil
        for (query, request) in queries {
            let lists = [query.states, query.patterns]
            guard let reply = try callManager(owner, "ListUnitsByPatterns", lists: lists) else {
                return listSoon(after: .zero)
            }
            guard queries[query] != nil else { continue }
            let listed = reply.failure == nil ? reply.listedUnits() : []
            let names = listed.filter { UnitQuery.counts(loadState: $0.loadState, activeState: $0.activeState) }
                .map(\.name).sorted()
            let failure = reply.failure.map { UnitReport.observation(.unreachable($0.message)) }
            thread.report(.news(.query(query), failure ?? .names(names), answers: request))
        }
    }

    // MARK: Calls

    /// Calls the manager; nil if the bus says that it cannot be reached.
    private func callManager(
        _ owner: String, _ member: String, _ arguments: [String] = [], lists: [[String]] = [],
        of interface: String = Names.managerInterface, at path: String = Names.managerPath
    ) throws(IOError) -> BusMessage? {
        let reply = try call(owner, path, interface, member, arguments, lists: lists)
        // The bus itself has no unique name.
        guard let failure = reply.failure, reply.sender?.first != ":" else { return reply }
        // Another manager may have taken its place, or it may have left.
        if manager.owner == owner {
            let reason = "the service manager does not answer: \(failure.message)"
            manager = .absent(reason: reason, until: .now + limits.absence)
        }
        return nil
    }

    private func callBus(_ member: String, _ argument: String) throws(IOError) -> BusMessage {
        try call(SystemBus.name, "/org/freedesktop/DBus", SystemBus.name, member, [argument])
    }

    /// Calls a method and waits for the reply; handles all messages that arrive before it.
    private func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [String],
        lists: [[String]] = []
    ) throws(IOError) -> BusMessage {
        let number = try bus.call(destination, path, interface, member, arguments, lists: lists)
        let deadline = Instant.now + limits.answer
        while true {
            // Messages that arrived by then still count, even if this thread was suspended.
            let isLate = .now >= deadline
            if let message = try next(until: deadline) {
                if message.replyNumber == number { return message }
                take(message)
            } else if isLate {
                throw IOError(.timedOut, "the service manager did not answer within \(limits.answer.text)")
            }
        }
    }

    // MARK: Signals

    private func takeNext(until time: Instant) throws(IOError) {
        if let message = try next(until: time) { take(message) }
    }

    /// Takes the next message that has arrived.
    ///
    /// If there is none, it waits for one, for a change by the loop, or until `time`, and returns nil.
    private func next(until time: Instant) throws(IOError) -> BusMessage? {
        if let message = try bus.receive() { return message }
        thread.wait(for: bus.awaited, until: time)
        try takeChanges()
        return nil
    }

    private func take(_ message: BusMessage) {
        let sender = message.sender
        if sender == SystemBus.name {
            if message.member == "NameOwnerChanged" { takeOwner(message) }
        } else if let sender, sender == manager.owner {
            takeSignal(message)
        }
    }

    /// Handles a change of owner: the message has the name, its former owner and its new one.
    private func takeOwner(_ message: BusMessage) {
        guard message.string() == Names.manager, message.string() != nil, let owner = message.string() else { return }
        if !owner.isEmpty {
            manager = .arrived(owner)
        } else if manager.owner != nil {
            manager = .absent(
                reason: "the service manager disconnected from the system bus", until: .now + limits.absence)
        }
    }

    private func takeSignal(_ message: BusMessage) {
        switch message.member {
        case "PropertiesChanged":
            let areGeneral = message.string() == Names.unitInterface
            if areGeneral { listSoon(after: limits.beforeListing) }
            let units = units(called: FollowedUnit.name(ofObject: message.path))
            if units.isEmpty { return }
            let values = message.properties(UnitProperties.names)
            for unit in units { perform(unit.change(values, areGeneral: areGeneral), on: unit) }
        case "UnitNew", "UnitRemoved":
            listSoon(after: limits.beforeListing)
            for unit in units(called: message.string()) { ask(.look, about: unit) }
        case "JobRemoved":
            // The job's number and object, the unit and the result.
            message.skip("uo")
            let units = units(called: message.string())
            guard let failure = message.string().flatMap(UnitProperties.StartFailure.init(rawValue:)) else { return }
            for unit in units { perform(unit.noteStart(failure), on: unit) }
        case "Reloading": if message.boolean() == false { readAll() }
        case "UnitFilesChanged": readAll()
        default: break
        }
    }

    private func units(called name: String?) -> [FollowedUnit] {
        guard let name else { return [] }
        return units.values.filter { $0.isCalled(name) }
    }

    private func perform(_ effect: FollowedUnit.Effect, on unit: FollowedUnit) {
        switch effect {
        case .nothing: break
        case .tell(let observation): tell(observation, about: unit)
        case .look: ask(.look, about: unit)
        case .tellAndLook(let observation):
            tell(observation, about: unit)
            ask(.look, about: unit)
        }
    }
}
