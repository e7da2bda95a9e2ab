// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import SystemdClient

@Suite("The questions about units, and their order") struct ReadingStateMachineTests {
    private final class Unit {
        let name: Int
        var isDue = true
        init(_ name: Int) { self.name = name }
    }

    private typealias Machine = ReadingStateMachine<Unit>

    private static func take(_ machine: inout Machine) -> [Int] {
        var names: [Int] = []
        while let (unit, _) = machine.next(where: \.isDue) { names.append(unit.name) }
        return names
    }

    @Test("32 units are read at a time, and 64 with those that have changed, which come first")
    func limits() {
        var machine = Machine(patience: .seconds(10))
        let units = (0..<200).map { Unit($0) }
        for unit in units { _ = machine.asked(about: unit, isNew: true) }
        _ = machine.changed(units[199], isLoaded: true, isAsked: false)
        #expect(Self.take(&machine) == [199] + (0..<31))
        for unit in units[100..<150] { _ = machine.changed(unit, isLoaded: true, isAsked: false) }
        #expect(Self.take(&machine) == Array(100..<132))
        _ = machine.ended(units[0], isDueAgain: false)
        #expect(Self.take(&machine) == [132])
        #expect(machine.units.count == 64 + 169 + 17)
    }

    @Test("a unit is queued once, is skipped if no question is due, and is known to be loaded or not")
    func line() {
        var machine = Machine(patience: .seconds(10))
        let (unit, other) = (Unit(1), Unit(2))
        for _ in 0..<3 {
            _ = machine.asked(about: unit, isNew: true)
            _ = machine.changed(unit, isLoaded: true, isAsked: false)
        }
        _ = machine.asked(about: other, isNew: false)
        _ = machine.changed(other, isLoaded: true, isAsked: true)
        let first = machine.next(where: \.isDue)
        #expect(first?.unit.name == 1 && first?.isLoaded == true)
        unit.isDue = false
        #expect(Self.take(&machine).isEmpty)
        unit.isDue = true
        _ = machine.ended(unit, isDueAgain: true)
        let again = machine.next(where: \.isDue)
        #expect(again?.unit.name == 1 && again?.isLoaded == false)
        _ = machine.ended(unit, isDueAgain: false)
        #expect(machine.units.isEmpty)
    }

    private enum Input: CaseIterable {
        case asked, changed, changedWhileAsked, resumed, began, next, ended, refused, timer
    }

    @Test("after any four inputs, at most one run and one timer are due, and a waiting unit is taken")
    func sequences() throws {
        let all = Input.allCases
        var sequences: [[Input]] = [[]]
        for _ in 0..<4 { sequences = sequences.flatMap { sequence in all.map { sequence + [$0] } } }
        for inputs in sequences { try Self.check(inputs) }
    }

    /// Gives a new machine inputs about one unit, and compares its outputs with what is due.
    private static func check(_ inputs: [Input]) throws {
        var machine = Machine(patience: .seconds(10))
        let unit = Unit(1)
        var (isRunDue, isTimed, isWaiting, isChanged) = (false, false, false, false)
        for input in inputs {
            let (effects, mayRun, mayWait): ([Machine.Effect], Bool, Bool)
            switch input {
            case .asked:
                (effects, mayRun, mayWait) = (machine.asked(about: unit, isNew: true), true, true)
                isWaiting = true
            case .changed, .changedWhileAsked:
                let isAsked = input == .changedWhileAsked
                (effects, mayRun, mayWait) = (machine.changed(unit, isLoaded: true, isAsked: isAsked), true, true)
                isChanged = isChanged || !isAsked
            case .resumed: (effects, mayRun, mayWait) = (machine.resumed(), true, false)
            case .began:
                machine.began()
                isRunDue = false
                (effects, mayRun, mayWait) = ([], false, false)
            case .next:
                let taken = machine.next(where: \.isDue)
                try #require(taken.map(\.isLoaded) == (isChanged ? true : isWaiting ? false : nil), "\(inputs)")
                if isChanged { isChanged = false } else { isWaiting = false }
                (effects, mayRun, mayWait) = ([], false, false)
            case .ended: (effects, mayRun, mayWait) = (machine.ended(unit, isDueAgain: false), true, false)
            case .refused:
                (effects, mayRun, mayWait) = (machine.ended(unit, isDueAgain: true), true, false)
                isWaiting = true
            case .timer:
                isTimed = false
                (effects, mayRun, mayWait) = (machine.timerFired(), false, !machine.units.isEmpty)
            }
            let expected =
                (mayRun && !isRunDue ? [.run] : []) + (mayWait && !isTimed ? [Machine.Effect.wait(.seconds(1))] : [])
            try #require(effects == expected, "\(inputs)")
            isRunDue = isRunDue || mayRun
            isTimed = isTimed || mayWait
        }
    }

    @Test("the limit grows with the queue, and returns to the patience when the queue is empty")
    func patience() {
        var machine = Machine(patience: .seconds(10))
        let units = (0..<100).map { Unit($0) }
        for unit in units { _ = machine.asked(about: unit, isNew: true) }
        #expect(machine.limit == .seconds(11))
        while let (unit, _) = machine.next(where: \.isDue) { _ = machine.ended(unit, isDueAgain: false) }
        #expect(machine.limit == .seconds(11))
        #expect(machine.timerFired().isEmpty)
        #expect(machine.limit == .seconds(10))
    }
}
