// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StatusMQTT

@Suite("Passes over what the broker keeps") struct PassMachineTests {
    @Test("there are three passes, and more after longer and longer rests; each ends when the broker is quiet")
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
        #expect(machine.tick(now: .seconds(73), isBehind: false) == [.endPass, .subscribe])
        var now = Duration.seconds(73)
        for rest in [5, 10, 20, 40, 80, 160, 320, 640, 1280, 1800, 1800] {
            machine.subscribed(now: now)
            now += .seconds(5)
            #expect(machine.tick(now: now, isBehind: false) == [.endPass])
            now += .seconds(rest - 1)
            #expect(machine.tick(now: now, isBehind: false) == [])
            now += .seconds(1)
            #expect(machine.tick(now: now, isBehind: false) == [.subscribe])
        }
        #expect(machine.begin() == .subscribe)
        machine.subscribed(now: now)
        #expect(machine.tick(now: now + .seconds(5), isBehind: false) == [.endPass, .subscribe], "a new connection")
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
