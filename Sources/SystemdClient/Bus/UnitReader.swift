// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

/// Reads units over one connection, few at a time, and each once however often it was requested.
///
/// To read a unit that is not loaded, the manager loads and unloads it, and sends signals about both. If these caused
/// another reading, that would go on for ever. So after such a signal, the reader first asks whether the unit is
/// loaded, which does not load it. A unit that was not loaded when it was read, and is not now, has not changed.
@EventLoop
final class UnitReader {
    private let manager: ManagerConnection
    private var machine: ReadingStateMachine<FollowedUnit>
    private var timer: TimerSource?

    init(_ manager: ManagerConnection, patience: Duration) throws(IOError) {
        self.manager = manager
        machine = ReadingStateMachine(patience: patience)
        timer = try TimerSource { [weak self] in self?.expire() }
    }

    /// Asks a question about a unit at the end of the turn, or after the unanswered question about it.
    func ask(_ need: QuestionStateMachine.Need, about unit: FollowedUnit) {
        perform(machine.asked(about: unit, isNew: unit.ask(need)))
    }

    /// Reads a unit before others, because it has changed.
    ///
    /// - Parameter isLoaded: whether it is known to be loaded.
    func askFirst(about unit: FollowedUnit, isLoaded: Bool) {
        _ = unit.ask(.read)
        perform(machine.changed(unit, isLoaded: isLoaded, isAsked: unit.isReading))
    }

    /// Continues at the end of the turn.
    func resume() { perform(machine.resumed()) }

    /// Cancels the timer; the caller also closes the connection, and with it all questions.
    func close() { timer?.cancel() }

    private func perform(_ effects: [ReadingStateMachine<FollowedUnit>.Effect]) {
        for effect in effects {
            switch effect {
            case .run: EventLoop.atEndOfTurn { [weak self] in self?.run() }
            case .wait(let time): timer?.schedule(after: time)
            }
        }
    }

    private func run() {
        machine.began()
        while !manager.isPaused, let (unit, isLoaded) = machine.next(where: \.isToBeAsked) {
            look(at: unit, isLoaded: isLoaded)
        }
    }

    private func look(at unit: FollowedUnit, isLoaded: Bool) {
        let need = unit.begin()
        if isLoaded { return read(unit, isLoaded: true) }
        manager.getUnit(unit.name) { [weak self] reply in
            switch reply {
            case .answer: self?.read(unit, isLoaded: true)
            case .refusal where need == .look && unit.isKnownAsUnloaded: self?.end(unit)
            case .refusal: self?.read(unit, isLoaded: false)
            case .nobody: self?.end(unit, isRefused: true)
            }
        }
    }

    private func read(_ unit: FollowedUnit, isLoaded: Bool) {
        manager.getProperties(path: unit.path) { [weak self] reply in
            switch reply {
            case .answer(let message): unit.know(message.properties, wasLoaded: isLoaded)
            case .refusal(let reason): unit.refuse(reason.message)
            case .nobody: break
            }
            if case .nobody = reply { self?.end(unit, isRefused: true) } else { self?.end(unit) }
        }
    }

    private func end(_ unit: FollowedUnit, isRefused: Bool = false) {
        perform(machine.ended(unit, isDueAgain: unit.end(isRefused: isRefused)))
    }

    /// Gives up what is known about units whose questions have been refused for too long.
    ///
    /// Other questions may be answered, so the connection is kept. Late answers are limited by the timeout of each
    /// call.
    private func expire() {
        let begin = SuspendingClock.now - machine.limit
        let reason = "its state is unknown because the service manager or the system bus is busy"
        for unit in machine.units { unit.expire(askedBefore: begin, reason) }
        perform(machine.timerFired())
    }
}
