// SPDX-License-Identifier: Apache-2.0

import DequeModule

/// Reads units over one connection: each one once however often that was asked for meanwhile, and few at a time.
///
/// To read a unit that is not loaded makes the manager load it, and say so, and unload it, and say so. To read it again for that
/// would go on for ever, so a unit that is said to be loaded or unloaded is looked at first, which does not load it: where it was
/// not loaded when it was read, and is not now, there is nothing new.
@EventLoop
final class UnitReader {
    /// How many units are read at a time: dbus-daemon refuses a system bus's client more than 128 calls without a reply.
    private static let limit = 32

    private let manager: ManagerConnection
    /// The units that wait to be read.
    private var line: Deque<FollowedUnit> = []
    private var readingCount = 0
    private var isScheduled = false

    init(_ manager: ManagerConnection) { self.manager = manager }

    /// Asks for a unit at the end of the turn, or when what is asked about it already has been answered.
    func ask(_ need: FollowedUnit.Need, about unit: FollowedUnit) {
        if unit.ask(need) { line.append(unit) }
        schedule()
    }

    private func schedule() {
        guard !isScheduled else { return }
        isScheduled = true
        EventLoop.atEndOfTurn { [weak self] in self?.run() }
    }

    private func run() {
        isScheduled = false
        // When the manager is back, all units are asked about.
        while !manager.isAway, readingCount < Self.limit, !line.isEmpty {
            let unit = line.removeFirst()
            if unit.isFollowed { look(at: unit) }
        }
    }

    private func look(at unit: FollowedUnit) {
        let need = unit.begin()
        readingCount += 1
        manager.getUnit(unit.name) { [weak self] reply in
            switch reply {
            case .answer: self?.read(unit, isLoaded: true)
            case .refusal where need == .look && !unit.wasLoaded: self?.end(unit)
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
                unit.refuse(reason)
                self?.end(unit)
            case .nobody: self?.end(unit, again: .read)
            }
        }
    }

    private func end(_ unit: FollowedUnit, again need: FollowedUnit.Need = .nothing) {
        readingCount -= 1
        if unit.end(again: need) { line.append(unit) }
        schedule()
    }
}
