// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StatusMQTT

@Suite("Passes over what the broker keeps") struct PassMachineTests {
    @Test("there are three passes at first, and then one each half hour; each ends when the broker is quiet")
    func passes() {
        var machine = PassMachine()
        #expect(machine.tick(now: .zero, isBehind: false) == [])
        #expect(machine.begin() == .subscribe)
        #expect(machine.tick(now: .seconds(60), isBehind: false) == [])
        machine.subscribed(now: .seconds(60))
        machine.heardKept(now: .seconds(63))
        #expect(machine.tick(now: .seconds(66), isBehind: false) == [])
        #expect(machine.tick(now: .seconds(68), isBehind: false) == [.endPass, .subscribe])
        machine.subscribed(now: .seconds(68))
        #expect(machine.tick(now: .seconds(70), isBehind: false) == [.endPass, .subscribe])
        machine.subscribed(now: .seconds(70))
        #expect(machine.tick(now: .seconds(73), isBehind: false) == [.endPass])
        #expect(machine.tick(now: .seconds(1800), isBehind: false) == [])
        #expect(machine.tick(now: .seconds(1873), isBehind: false) == [.subscribe])
    }

    @Test("a pass does not end while messages are not handled, but a host that floods cannot hold it up")
    func behind() {
        var machine = PassMachine()
        _ = machine.begin()
        machine.subscribed(now: .zero)
        #expect(machine.tick(now: .seconds(30), isBehind: true) == [])
        #expect(machine.tick(now: .seconds(120), isBehind: true) == [.endPass, .subscribe])
    }

    @Test("a lost connection ends no pass")
    func lost() {
        var machine = PassMachine()
        _ = machine.begin()
        machine.subscribed(now: .zero)
        machine.disconnected()
        #expect(machine.tick(now: .seconds(60), isBehind: false) == [])
    }
}
