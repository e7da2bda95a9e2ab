// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import SystemdClient

@Suite("The conversation with the service manager") struct ManagerStateMachineTests {
    enum Input: String, CaseIterable {
        case refused, gone, overdue, answered, subscribed, left, arrived, timer, ping, list, listed, end
        case notSubscribed = "not subscribed"
    }

    private static let start = SuspendingClock.now

    /// Makes a machine; returns its outputs for the last of these inputs.
    private static func output(_ inputs: [Input]) -> String {
        var machine = ManagerStateMachine(BusTimes())
        var effects: [ManagerStateMachine.Effect] = []
        for input in inputs {
            let call = machine.called(at: start)
            switch input {
            case .refused: effects = machine.unanswered(call, .refused, at: start)
            case .gone: effects = machine.unanswered(call, .absent("no such name"), at: start)
            case .overdue: effects = machine.unanswered(call, .absent("no reply"), at: start + .seconds(10))
            case .answered: effects = machine.answered(call)
            case .subscribed, .notSubscribed:
                effects = []
                machine.subscribed(call, isDue: input == .notSubscribed)
            case .left: effects = machine.left("left")
            case .arrived: effects = machine.arrived()
            case .timer: effects = machine.timerFired()
            case .ping: effects = machine.pingDue()
            case .list: effects = machine.listDue()
            case .listed: effects = machine.listed()
            case .end:
                effects = []
                machine.end()
            }
        }
        return effects.map(text).joined(separator: ", ")
    }

    private static func text(_ effect: ManagerStateMachine.Effect) -> String {
        switch effect {
        case .wait(let time): "wait \(time.components.seconds)"
        case .tell(.lost): "lost"
        case .tell(let signal): "\(signal)"
        default: "\(effect)"
        }
    }

    @Test("has these transitions")
    func transitions() {
        let states: [String: [Input]] = [
            "calling": [], "unsubscribed": [.notSubscribed], "refused": [.refused],
            "refused unsubscribed": [.notSubscribed, .refused], "absent": [.left],
            "absent unsubscribed": [.notSubscribed, .left], "ended": [.end],
        ]
        let table = """
            calling, refused: refused, wait 0
            calling, gone: absent, wait 5
            calling, overdue: ended, lost
            calling, answered: -, works
            calling, not subscribed: unsubscribed
            calling, left: absent, wait 5
            calling, arrived: calling, subscribe, reloaded
            calling, ping: calling, ping
            calling, end: ended
            unsubscribed, refused: refused unsubscribed, wait 0
            unsubscribed, gone: absent unsubscribed, wait 5
            unsubscribed, overdue: ended, lost
            unsubscribed, answered: -, works
            unsubscribed, subscribed: calling
            unsubscribed, left: absent unsubscribed, wait 5
            unsubscribed, arrived: calling, subscribe, reloaded
            unsubscribed, ping: calling, subscribe, reloaded, ping
            unsubscribed, end: ended
            refused, gone: absent, wait 5
            refused, overdue: ended, lost
            refused, answered: -, works
            refused, not subscribed: refused unsubscribed
            refused, left: absent, wait 5
            refused, arrived: calling, subscribe, reloaded
            refused, timer: calling, resumed
            refused, end: ended
            refused unsubscribed, gone: absent unsubscribed, wait 5
            refused unsubscribed, overdue: ended, lost
            refused unsubscribed, answered: -, works
            refused unsubscribed, subscribed: refused
            refused unsubscribed, left: absent unsubscribed, wait 5
            refused unsubscribed, arrived: calling, subscribe, reloaded
            refused unsubscribed, timer: calling, subscribe, reloaded
            refused unsubscribed, end: ended
            absent, overdue: ended, lost
            absent, answered: -, works
            absent, not subscribed: absent unsubscribed
            absent, arrived: calling, subscribe, reloaded
            absent, timer: ended, lost
            absent, end: ended
            absent unsubscribed, overdue: ended, lost
            absent unsubscribed, answered: -, works
            absent unsubscribed, subscribed: absent
            absent unsubscribed, arrived: calling, subscribe, reloaded
            absent unsubscribed, timer: ended, lost
            absent unsubscribed, end: ended
            """
        let inputs = Input.allCases.filter { $0 != .list && $0 != .listed }
        TransitionTable(table, states: states, inputs: inputs).check(Self.output)
    }

    @Test("lists all units only once at a time, and once more for changes during that")
    func lists() {
        let states: [String: [Input]] = [
            "calling": [], "listing": [.list], "listing again": [.list, .list], "refused": [.refused],
            "refused listing": [.list, .refused], "refused listing again": [.list, .list, .refused], "ended": [.end],
        ]
        let table = """
            calling, list: listing, list
            calling, refused: refused, wait 0
            calling, end: ended
            listing, list: listing again
            listing, listed: calling
            listing, refused: refused listing, wait 0
            listing, end: ended
            listing again, listed: listing, list
            listing again, refused: refused listing again, wait 0
            listing again, end: ended
            refused, timer: calling, resumed
            refused, end: ended
            refused listing, listed: refused
            refused listing, timer: listing, resumed
            refused listing, end: ended
            refused listing again, listed: refused
            refused listing again, timer: listing again, resumed
            refused listing again, end: ended
            """
        TransitionTable(table, states: states, inputs: [.list, .listed, .refused, .timer, .end]).check(Self.output)
    }

    @Test("calls wait until the manager is there and has room")
    func pauses() {
        func isPaused(after inputs: [Input]) -> Bool {
            // A ping is a call.
            Self.output(inputs + [.ping]).isEmpty
        }
        #expect(!isPaused(after: []))
        #expect(isPaused(after: [.refused]))
        #expect(!isPaused(after: [.refused, .timer]))
        #expect(isPaused(after: [.left]))
        #expect(!isPaused(after: [.left, .arrived]))
        #expect(isPaused(after: [.end]))
    }

    @Test("late or missing answers of a former manager say nothing about the present one")
    func formerManager() {
        var machine = ManagerStateMachine(BusTimes())
        let call = machine.called(at: Self.start)
        _ = machine.arrived()
        #expect(machine.answered(call).isEmpty)
        let gone = machine.unanswered(call, .absent("no reply"), at: Self.start + .seconds(60))
        #expect(gone.isEmpty)
        machine.subscribed(call, isDue: true)
        #expect(machine.pingDue() == [.ping])
    }

    @Test("is lost for the reason that came first")
    func reasons() {
        var machine = ManagerStateMachine(BusTimes())
        let call = machine.called(at: Self.start)
        _ = machine.unanswered(call, .absent("no such name"), at: Self.start)
        _ = machine.left("left")
        #expect(machine.timerFired() == [.tell(.lost("the service manager does not answer: no such name"))])
        machine = ManagerStateMachine(BusTimes())
        _ = machine.left("left")
        #expect(machine.timerFired() == [.tell(.lost("left"))])
        machine = ManagerStateMachine(BusTimes())
        let lost = machine.unanswered(machine.called(at: Self.start), .refused, at: Self.start + .seconds(10))
        #expect(lost == [.tell(.lost("the service manager did not answer within 10 s"))])
    }
}
