// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
import LogLimiting
public import Logging

/// Follows systemd units over one connection to the system bus, which lasts while a unit is followed.
///
/// A lost connection is replaced, with growing pauses. Meanwhile followers are told that nothing is known.
@EventLoop
public final class UnitBus {
    /// The subject of log messages.
    private static let subject = "units"

    private let address: String
    private let times: BusTimes
    private let logger: Logger
    /// Logs when the connection is lost and when it works again.
    private let news: LogLimiter
    private var units: [String: FollowedUnit] = [:]
    let index = UnitIndex()
    private var machine: ConnectionStateMachine
    private var manager: ManagerConnection?
    private var reader: UnitReader?
    private var listTimer: TimerSource?
    private var timer: TimerSource?

    /// Creates the bus without connecting, which the first followed unit causes.
    ///
    /// - Parameter logger: reports a lost connection.
    public convenience init(logger: Logger) { self.init(on: BusSettings.systemBus, logger: logger) }

    init(on address: String, times: BusTimes = BusTimes(), logger: Logger) {
        self.address = address
        self.times = times
        machine = ConnectionStateMachine(times)
        self.logger = logger
        news = LogLimiter(logger, .warning, burst: 2)
    }

    /// Follows a unit until the subscription is cancelled or released.
    ///
    /// - Parameters:
    ///   - unit: the unit's full name or an alias of it; the unit need not exist yet.
    ///   - handler: called on the loop with what is known, never from within this call: as soon as it is known,
    ///     whenever it changes, and after each ``UnitSubscription/read(within:)``.
    public func follow(
        _ unit: String, handler: @escaping @EventLoop (UnitObservation) -> Void
    ) -> UnitSubscription {
        let follower = UnitFollower(handler)
        let followed = units[unit] ?? add(unit)
        followed.add(follower)
        EventLoop.atEndOfTurn { [weak self] in
            followed.tell(follower)
            if let self, !units.isEmpty { perform(machine.wanted()) }
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
            // Signals with its own name did not pass before.
            reader?.ask(.read, about: unit)
        }
        reader?.ask(.read, about: unit)
        if let failure = machine.failure { unit.lose(failure) }
        return unit
    }

    func remove(_ follower: UnitFollower, from unit: FollowedUnit) {
        unit.remove(follower)
        follower.cancel()
        guard !unit.isFollowed, units[unit.name] === unit else { return }
        units[unit.name] = nil
        index.remove(unit)
        if units.isEmpty { perform(machine.unwanted()) }
    }

    func read(_ unit: FollowedUnit) {
        if let reader { return reader.ask(.read, about: unit) }
        EventLoop.atEndOfTurn { unit.answer() }
    }

    private func take(_ signal: ManagerSignal) {
        switch signal {
        case .changed(let path, let interface, let message):
            for unit in index[path]
            where unit.change(message.properties, interface: interface, invalidated: message.list) {
                reader?.askFirst(about: unit, isLoaded: true)
            }
        case .loaded(let name):
            for unit in index[name] { reader?.ask(.look, about: unit) }
        case .listed(let states):
            // A reading that is under way is newer than the list.
            for unit in units.values where !unit.isReading && unit.take(states) {
                reader?.askFirst(about: unit, isLoaded: unit.isListed(in: states))
            }
        case .notStarted(let name, let failure):
            for unit in index[name] { unit.noteStart(failure) }
        case .reloaded: perform(machine.reloaded(at: .now))
        case .disturbed: perform(machine.disturbed(units: units.count))
        case .late(let time): perform(machine.delayed(since: time, units: units.count))
        case .resumed: perform(machine.resumed(units: units.count))
        case .works: perform(machine.worked())
        case .lost(let reason): perform(machine.lost(reason))
        }
    }

    // MARK: The connection

    private func perform(_ effects: [ConnectionStateMachine.Effect]) { for effect in effects { perform(effect) } }

    private func perform(_ effect: ConnectionStateMachine.Effect) {
        switch effect {
        case .connect: connect()
        case .disconnect: disconnect()
        case .list: manager?.list()
        case .listAfter(let pause): listTimer?.schedule(after: pause)
        case .readAll: for unit in units.values { reader?.ask(.read, about: unit) }
        case .resumeReading: reader?.resume()
        case .wait(let time): wait(time)
        case .logLoss(let reason):
            news.log(
                "cannot follow units: \(reason); trying again", about: Self.subject, metadata: ["reason": "\(reason)"])
        case .logReturn: news.log("follows units again", about: Self.subject, level: .notice)
        case .loseUnits(let reason): for unit in units.values { unit.lose(reason) }
        }
    }

    private func connect() {
        do throws(IOError) {
            let manager = try ManagerConnection(on: address, filter: index.filter, times: times) { [weak self] signal in
                self?.take(signal)
            }
            self.manager = manager
            reader = try UnitReader(manager, patience: times.patience)
            if listTimer == nil { listTimer = try TimerSource { [weak self] in self?.manager?.list() } }
            perform(machine.connected(at: .now))
        } catch {
            perform(machine.lost(error.message))
        }
    }

    private func wait(_ time: Duration) {
        do throws(IOError) {
            if timer == nil { timer = try TimerSource { [weak self] in self?.timerFired() } }
            timer?.schedule(after: time)
        } catch {
            logger.error(
                "cannot follow units any more: \(error); restart this service", metadata: ["reason": "\(error)"])
        }
    }

    private func timerFired() { perform(machine.timerFired(at: .now, units: units.count)) }

    private func disconnect() {
        timer?.stop()
        listTimer?.stop()
        reader?.close()
        manager?.close()
        manager = nil
        reader = nil
    }
}
