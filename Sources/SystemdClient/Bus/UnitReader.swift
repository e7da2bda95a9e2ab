// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

/// Reads units over one connection: each one once however often that was asked for meanwhile, and few at a time.
///
/// To read a unit that is not loaded makes the manager load it, and say so, and unload it, and say so. To read it again for that
/// would go on for ever, so a unit that is said to be loaded or unloaded is looked at first, which does not load it: where it was
/// not loaded when it was read, and is not now, there is nothing new.
@EventLoop
final class UnitReader {
    /// How many units are read at a time, and how many together with those that come first: dbus-daemon refuses a system bus's client more than
    /// 128 calls without a reply.
    private static let (limit, firstLimit) = (32, 64)
    private let manager: ManagerConnection
    private let patience: Duration
    /// The units that wait to be read, those that wait before all others, and those that are being read.
    private var line = UnitLine()
    private var first = UnitLine()
    private var reading: [FollowedUnit] = []
    private var isScheduled = false
    private var timer: TimerSource?
    private var isTimed = false
    /// How long the line was at most since it was empty.
    private var longest = 0

    /// A reader over a connection.
    ///
    /// - Parameter patience: how long a unit may be asked about in vain, once or again and again, until nothing is known of it; where many wait, as
    ///   long as it takes to read them is added.
    init(_ manager: ManagerConnection, patience: Duration) throws(IOError) {
        self.manager = manager
        self.patience = patience
        timer = try TimerSource { [weak self] in self?.expire() }
    }

    /// How long it takes to read so many units; what goes beyond 18 s is not waited for.
    static func readingTime(ofUnits count: Int) -> Duration { min(.milliseconds(10) * count, .seconds(18)) }

    /// Asks for a unit at the end of the turn, or when what is asked about it already has been answered.
    func ask(_ need: FollowedUnit.Need, about unit: FollowedUnit) {
        if unit.ask(need) { line.append(unit) }
        longest = max(longest, line.count)
        schedule()
        watch()
    }

    /// Asks for everything about a unit before others: it has become another one, and there may be thousands in line.
    ///
    /// - Parameter isLoaded: whether it is known to be loaded.
    func askFirst(about unit: FollowedUnit, isLoaded: Bool) {
        _ = unit.ask(.read)
        if !unit.isReading { first.append(unit, isLoaded: isLoaded) }
        schedule()
        watch()
    }

    /// Nothing is asked, or answered, any more.
    func close() { timer?.cancel() }

    /// Goes on at the end of the turn.
    func schedule() {
        guard !isScheduled else { return }
        isScheduled = true
        EventLoop.atEndOfTurn { [weak self] in self?.run() }
    }

    private func run() {
        isScheduled = false
        while !manager.isPaused, let (unit, isLoaded) = next() {
            look(at: unit, isLoaded: isLoaded)
        }
    }

    /// Takes the unit whose turn it is, and whether it is known to be loaded; nil if there is none, or as many are being read as may be.
    private func next() -> (FollowedUnit, Bool)? {
        if reading.count < Self.firstLimit, let next = first.popFirst() { return next }
        return reading.count < Self.limit ? line.popFirst() : nil
    }

    private func look(at unit: FollowedUnit, isLoaded: Bool) {
        let need = unit.begin()
        reading.append(unit)
        if isLoaded { return read(unit, isLoaded: true) }
        manager.getUnit(unit.name) { [weak self] reply in
            switch reply {
            case .answer: self?.read(unit, isLoaded: true)
            case .refusal where need == .look && unit.isKnownAsUnloaded: self?.end(unit)
            case .refusal: self?.read(unit, isLoaded: false)
            case .nobody: self?.end(unit, again: .read)
            }
        }
    }

    private func read(_ unit: FollowedUnit, isLoaded: Bool) {
        manager.getProperties(path: unit.path) { [weak self] reply in
            switch reply {
            case .answer(let message):
                unit.know(message.properties, wasLoaded: isLoaded)
                self?.end(unit)
            case .refusal(let reason):
                unit.refuse(reason.message)
                self?.end(unit)
            case .nobody: self?.end(unit, again: .read)
            }
        }
    }

    private func end(_ unit: FollowedUnit, again need: FollowedUnit.Need = .nothing) {
        reading.removeAll { $0 === unit }
        if unit.end(again: need) { line.append(unit) }
        schedule()
    }

    // MARK: What is not answered

    private func watch() {
        if isTimed { return }
        isTimed = true
        timer?.schedule(after: patience / 10)
    }

    /// Has nothing known of the units whose questions have been refused for too long.
    ///
    /// Others of them may be answered, so that the connection holds. What is answered late has the limit of each call.
    private func expire() {
        isTimed = false
        let wait = patience + Self.readingTime(ofUnits: longest)
        let reason = "nothing is known of it, since the service manager, or the system bus, is kept busy"
        for unit in reading + line.units + first.units { unit.expire(askedBefore: .now - wait, reason) }
        if line.isEmpty { longest = 0 }
        if !reading.isEmpty || !line.isEmpty || !first.isEmpty { watch() }
    }
}
