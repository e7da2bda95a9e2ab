// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
import LogLimiting
public import Logging

/// Follows systemd units over the system bus: one connection for all, which is there while a unit is followed.
///
/// A connection that is lost is made again, with growing pauses; meanwhile followers are told that nothing is known.
@EventLoop
public final class UnitBus {
    /// The pause before a lost connection is made again; it doubles from the first to the longest one.
    private static let firstPause = Duration.milliseconds(100)
    private static let longestPause = Duration.seconds(5)
    /// How often all units are read again: the bus drops signals if its queue for this process is full.
    private static let readInterval = Duration.seconds(300)

    /// What the log is about.
    private static let subject = "units"

    private let address: String
    private let times: ManagerConnection.Times
    private let logger: Logger
    /// Tells when the connection is lost, and when it works again.
    private let news: LogLimiter
    private var units: [String: FollowedUnit] = [:]
    let index = UnitIndex()
    private var manager: ManagerConnection?
    private var reader: UnitReader?
    /// Whether the manager is being asked how all units are, and whether that has to be asked once more.
    private var isListing = false
    private var isListDue = false
    private var listTimer: TimerSource?
    /// Why there is no connection, during a pause.
    private var failure: String?
    private var isFailureLogged = false
    private var pause = firstPause
    /// When all units were read last; for some time after it, the manager is busy with that.
    private var readAt = ContinuousClock.now
    /// Whether all units are read again soon.
    private var isReadDue = false
    private var timer: TimerSource?

    /// Connects to nothing before the first unit is followed.
    ///
    /// - Parameter logger: is told when the connection is lost.
    public convenience init(logger: Logger) { self.init(on: BusSettings.systemBus, logger: logger) }

    init(on address: String, times: ManagerConnection.Times = ManagerConnection.Times(), logger: Logger) {
        self.address = address
        self.times = times
        self.logger = logger
        news = LogLimiter(logger, .warning, burst: 2)
    }

    /// Follows a unit until the subscription is cancelled or let go.
    ///
    /// - Parameters:
    ///   - unit: the unit's full name, or an alias of it; there need not be such a unit yet.
    ///   - handler: is called on the loop, never from within this call, with what is known: first as soon as it is, then whenever
    ///     it has become another, and after each ``UnitSubscription/read(within:)``.
    public func follow(
        _ unit: String, handler: @escaping @EventLoop (UnitObservation) -> Void
    ) -> UnitSubscription {
        let follower = UnitFollower(handler)
        let followed = units[unit] ?? add(unit)
        followed.add(follower)
        EventLoop.atEndOfTurn { [weak self] in
            followed.tell(follower)
            self?.connectFirst()
        }
        return UnitSubscription(self, followed, follower)
    }

    // MARK: Units

    private func add(_ name: String) -> FollowedUnit {
        let unit = FollowedUnit(name)
        units[name] = unit
        index.update(unit)
        unit.onRename = { [weak self, weak unit] in
            guard let self, let unit, units[unit.name] === unit else { return }
            index.update(unit)
            // Signals about its own name were not let pass before.
            reader?.ask(.read, about: unit)
        }
        reader?.ask(.read, about: unit)
        if let failure { unit.lose(failure) }
        return unit
    }

    func remove(_ follower: UnitFollower, from unit: FollowedUnit) {
        unit.remove(follower)
        follower.cancel()
        guard !unit.isFollowed, units[unit.name] === unit else { return }
        units[unit.name] = nil
        index.remove(unit)
        if units.isEmpty { disconnect() }
    }

    func read(_ unit: FollowedUnit) {
        if let reader { return reader.ask(.read, about: unit) }
        EventLoop.atEndOfTurn { unit.answer() }
    }

    private func handle(_ signal: ManagerConnection.Signal) {
        switch signal {
        case .changed(let path, let interface, let message):
            for unit in index[path]
            where unit.change(message.properties, interface: interface, invalidated: message.list) {
                reader?.askFirst(about: unit, isLoaded: true)
            }
        case .loaded(let name):
            for unit in index[name] { reader?.ask(.look, about: unit) }
        case .notStarted(let name, let failure):
            for unit in index[name] { unit.noteStart(failure) }
        case .reloaded: readAll()
        case .disturbed:
            list()
            listTimer?.schedule(after: times.afterDisturbance)
            readSoon()
        case .late(let time):
            list()
            if time > readAt + UnitReader.readingTime(ofUnits: units.count) { readSoon() }
        case .resumed:
            reader?.schedule()
            list()
            readSoon()
        case .works:
            if isFailureLogged { news.log("units are followed again", about: Self.subject, level: .notice) }
            isFailureLogged = false
        case .lost(let reason): lose(reason)
        }
    }

    /// Asks how all units are, by one call, and reads those first that are not as they are known.
    ///
    /// To read them all takes as many answers, one after another, as there are dozens of them; and each may be late.
    private func list() {
        guard let manager, !manager.isPaused else { return }
        // What is under way may have been answered before the moment that this is about.
        isListDue = isListing
        if isListing { return }
        isListing = true
        manager.listUnits { [weak self, weak manager] reply in
            guard let self, self.manager === manager else { return }
            isListing = false
            if case .answer(let message) = reply { take(message.units) }
            if isListDue { list() }
        }
    }

    private func take(_ listed: [String: UnitStates]) {
        // What is being read comes after the list.
        for unit in units.values where !unit.isReading && unit.take(listed) {
            reader?.askFirst(about: unit, isLoaded: unit.isListed(in: listed))
        }
    }

    /// Reads all units in a moment, if that is not due anyway.
    private func readSoon() {
        if isReadDue { return }
        isReadDue = true
        schedule(after: disturbedPause)
    }

    /// The pause before all units are read again while others disturb: the bus may have dropped signals, or the manager be too busy to send them.
    ///
    /// So long may a unit that has failed be shown as it was; but to read many costs the service manager some time.
    private var disturbedPause: Duration { times.betweenReadings + UnitReader.readingTime(ofUnits: units.count) }

    private func readAll() {
        readAt = .now
        for unit in units.values { reader?.ask(.read, about: unit) }
    }

    // MARK: The connection

    private func connectFirst() {
        if manager == nil, failure == nil, !units.isEmpty { connect() }
    }

    private func connect() {
        failure = nil
        do throws(IOError) {
            let manager = try ManagerConnection(on: address, filter: index.filter, times: times) { [weak self] signal in
                self?.handle(signal)
            }
            self.manager = manager
            reader = try UnitReader(manager, patience: times.patience)
            if listTimer == nil { listTimer = try TimerSource { [weak self] in self?.list() } }
            readAll()
            schedule(after: Self.readInterval)
        } catch {
            lose(error.message)
        }
    }

    private func lose(_ reason: String) {
        let hasWorked = manager?.hasWorked ?? false
        let next = hasWorked ? Self.firstPause : pause
        let isNew = hasWorked || !isFailureLogged
        disconnect()
        failure = reason
        isFailureLogged = true
        if isNew {
            news.log(
                "units cannot be followed for now: \(reason)", about: Self.subject, metadata: ["reason": "\(reason)"])
        }
        reconnect(after: next)
        for unit in units.values { unit.lose(reason) }
    }

    private func reconnect(after pause: Duration) {
        self.pause = min(pause * 2, Self.longestPause)
        schedule(after: pause)
    }

    private func schedule(after delay: Duration) {
        do throws(IOError) {
            if timer == nil { timer = try TimerSource { [weak self] in self?.timeIsUp() } }
            timer?.schedule(after: delay)
        } catch {
            logger.error("units cannot be followed any more", metadata: ["reason": "\(error)"])
        }
    }

    private func timeIsUp() {
        let wasDisturbed = isReadDue
        isReadDue = false
        guard manager != nil else { return connect() }
        if wasDisturbed { list() }
        readAll()
        // What comes within a second of the last report is not reported (``BusTrust``), so it may have come after this reading.
        schedule(after: wasDisturbed ? disturbedPause : Self.readInterval)
    }

    private func disconnect() {
        timer?.stop()
        listTimer?.stop()
        (isReadDue, isListing, isListDue) = (false, false, false)
        reader?.close()
        manager?.close()
        manager = nil
        reader = nil
        failure = nil
        isFailureLogged = false
        pause = Self.firstPause
    }
}
