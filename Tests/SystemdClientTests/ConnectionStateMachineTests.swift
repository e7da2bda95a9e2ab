// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import SystemdClient

@Suite("The life of the connection to the service manager") struct ConnectionStateMachineTests {
    enum Input: String, CaseIterable {
        case wanted, connected, worked, lost, unwanted, reloaded, disturbed, delayed, resumed, timer
    }

    private static let start = ContinuousClock.now
    private static let times = BusTimes(betweenReadings: .seconds(60))

    /// Makes a machine; returns its outputs for the last of these inputs.
    private static func output(_ inputs: [Input]) -> String {
        var machine = ConnectionStateMachine(times)
        var effects: [ConnectionStateMachine.Effect] = []
        for input in inputs {
            switch input {
            case .wanted: effects = machine.wanted()
            case .connected: effects = machine.connected(at: start)
            case .worked: effects = machine.worked()
            case .lost: effects = machine.lost("gone")
            case .unwanted: effects = machine.unwanted()
            case .reloaded: effects = machine.reloaded(at: start)
            case .disturbed: effects = machine.disturbed(units: 0)
            case .delayed: effects = machine.delayed(since: start + .seconds(1), units: 0)
            case .resumed: effects = machine.resumed(units: 0)
            case .timer: effects = machine.timerFired(at: start, units: 0)
            }
        }
        return effects.map(text).joined(separator: ", ")
    }

    private static func text(_ effect: ConnectionStateMachine.Effect) -> String {
        switch effect {
        case .wait(BusTimes.betweenRegularReadings): "wait long"
        case .wait(.seconds(60)): "wait"
        case .wait: "back off"
        case .listAfter: "list later"
        case .logLoss: "log loss"
        case .logReturn: "log return"
        case .loseUnits: "lose units"
        case .readAll: "read"
        case .resumeReading: "resume"
        default: "\(effect)"
        }
    }

    @Test("has these transitions")
    func transitions() {
        let states: [String: [Input]] = [
            "idle": [], "connecting": [.wanted], "following": [.wanted, .connected],
            "disturbed": [.wanted, .connected, .disturbed], "waiting": [.wanted, .lost],
            "reconnecting": [.wanted, .lost, .timer], "trying": [.wanted, .lost, .timer, .connected],
            "trying disturbed": [.wanted, .lost, .timer, .connected, .resumed],
        ]
        let table = """
            idle, wanted: connecting, connect
            idle, unwanted: -, disconnect
            connecting, connected: following, read, wait long
            connecting, lost: waiting, disconnect, log loss, back off, lose units
            connecting, unwanted: idle, disconnect
            following, lost: waiting, disconnect, log loss, back off, lose units
            following, unwanted: idle, disconnect
            following, reloaded: -, read
            following, disturbed: disturbed, list, list later, wait
            following, delayed: disturbed, list, wait
            following, resumed: disturbed, resume, list, wait
            following, timer: -, read, wait long
            disturbed, lost: waiting, disconnect, log loss, back off, lose units
            disturbed, unwanted: idle, disconnect
            disturbed, reloaded: -, read
            disturbed, disturbed: -, list, list later
            disturbed, delayed: -, list
            disturbed, resumed: -, resume, list
            disturbed, timer: following, list, read, wait
            waiting, unwanted: idle, disconnect
            waiting, timer: reconnecting, connect
            reconnecting, connected: trying, read, wait long
            reconnecting, lost: waiting, disconnect, back off, lose units
            reconnecting, unwanted: idle, disconnect
            trying, worked: following, log return
            trying, lost: waiting, disconnect, back off, lose units
            trying, unwanted: idle, disconnect
            trying, reloaded: -, read
            trying, disturbed: trying disturbed, list, list later, wait
            trying, delayed: trying disturbed, list, wait
            trying, resumed: trying disturbed, resume, list, wait
            trying, timer: -, read, wait long
            trying disturbed, worked: disturbed, log return
            trying disturbed, lost: waiting, disconnect, back off, lose units
            trying disturbed, unwanted: idle, disconnect
            trying disturbed, reloaded: -, read
            trying disturbed, disturbed: -, list, list later
            trying disturbed, delayed: -, list
            trying disturbed, resumed: -, resume, list
            trying disturbed, timer: trying, list, read, wait
            """
        TransitionTable(table, states: states, inputs: Input.allCases).check(Self.output)
    }

    @Test("a connection that is lost repeatedly is made again after growing pauses, up to 5 s, until one works")
    func backOff() {
        var machine = ConnectionStateMachine(BusTimes())
        func pause(_ effects: [ConnectionStateMachine.Effect]) -> Duration? {
            effects.lazy.compactMap { if case .wait(let time) = $0 { time } else { nil } }.first
        }
        _ = machine.wanted()
        var pauses: [Duration?] = []
        for _ in 0..<8 {
            pauses.append(pause(machine.lost("gone")))
            _ = machine.timerFired(at: Self.start, units: 1)
        }
        #expect(pauses == [100, 200, 400, 800, 1600, 3200, 5000, 5000].map { .milliseconds($0) })
        _ = machine.connected(at: Self.start)
        _ = machine.worked()
        #expect(pause(machine.lost("gone")) == .milliseconds(100))
    }

    @Test("a unit that is followed during a pause is told why there is no connection")
    func failure() {
        var machine = ConnectionStateMachine(BusTimes())
        _ = machine.wanted()
        #expect(machine.failure == nil)
        _ = machine.lost("no such file")
        #expect(machine.failure == "no such file")
        _ = machine.timerFired(at: Self.start, units: 1)
        #expect(machine.failure == nil)
    }

    @Test("a late answer while all units are read makes them be listed, but not read again")
    func lateWhileReading() {
        var machine = ConnectionStateMachine(BusTimes())
        _ = machine.wanted()
        _ = machine.connected(at: Self.start)
        #expect(machine.delayed(since: Self.start + .seconds(1), units: 100) == [.list])
        _ = machine.reloaded(at: Self.start + .seconds(10))
        #expect(machine.delayed(since: Self.start + .seconds(11), units: 100) == [.list])
        let later = machine.delayed(since: Self.start + .seconds(12), units: 100)
        #expect(later == [.list, .wait(.seconds(3))])
    }
}
