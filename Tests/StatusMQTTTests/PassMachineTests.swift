// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StatusMQTT

@Suite("Passes over what the broker keeps") struct PassMachineTests {
    @Test("there are three passes, and more after longer and longer rests; each ends when the broker is quiet")
    func passes() {
        var machine = PassMachine()
        #expect(machine.tick(now: .zero, isBehind: false) == [])
        #expect(machine.begin(now: .zero) == .subscribe)
        #expect(machine.tick(now: .seconds(20), isBehind: false) == [])
        machine.subscribed(now: .seconds(20))
        machine.heardKept(now: .seconds(23))
        #expect(machine.tick(now: .seconds(26), isBehind: false) == [])
        #expect(machine.tick(now: .seconds(28), isBehind: false) == [.endPass, .subscribe])
        machine.subscribed(now: .seconds(28))
        #expect(machine.tick(now: .seconds(33), isBehind: false) == [.endPass, .subscribe])
        var now = Duration.seconds(33)
        for rest in [5, 10, 20, 40, 80, 160, 320, 640, 1280, 1800, 1800] {
            machine.subscribed(now: now)
            now += .seconds(5)
            #expect(machine.tick(now: now, isBehind: false) == [.endPass])
            now += .seconds(rest - 1)
            #expect(machine.tick(now: now, isBehind: false) == [])
            now += .seconds(1)
            #expect(machine.tick(now: now, isBehind: false) == [.subscribe])
        }
        #expect(machine.begin(now: now) == .subscribe)
        machine.subscribed(now: now)
        #expect(machine.tick(now: now + .seconds(5), isBehind: false) == [.endPass, .subscribe], "a new connection")
    }

    @Test("a pass does not end while messages are not handled, but a host that floods cannot hold it up")
    func behind() {
        var machine = PassMachine()
        _ = machine.begin(now: .zero)
        machine.subscribed(now: .zero)
        #expect(machine.tick(now: .seconds(30), isBehind: true) == [])
        #expect(machine.tick(now: .seconds(120), isBehind: true) == [.endPass, .subscribe])
    }

    @Test("after an absence of the broker, passes remove nothing while hosts may still come back")
    func returns() {
        var machine = PassMachine()
        _ = machine.begin(now: .zero, returnsEnd: .seconds(30))
        var ends: [Duration] = []
        for second in 0..<60 {
            machine.subscribed(now: .seconds(second))
            if machine.tick(now: .seconds(second), isBehind: false).contains(.endPass) { ends.append(.seconds(second)) }
        }
        #expect(ends.filter { $0 < .seconds(30) }.isEmpty && ends.filter { $0 <= .seconds(50) }.count == 3, "\(ends)")
    }

    @Test("a broker that does not answer is given up after half a minute, unless this host is behind")
    func silence() {
        var machine = PassMachine()
        _ = machine.begin(now: .zero)
        #expect(machine.tick(now: .seconds(29), isBehind: false) == [])
        #expect(machine.tick(now: .seconds(40), isBehind: true) == [])
        #expect(machine.tick(now: .seconds(41), isBehind: false) == [.giveUp])
        #expect(machine.tick(now: .seconds(99), isBehind: false) == [])
    }

    @Test("a lost connection ends no pass")
    func lost() {
        var machine = PassMachine()
        _ = machine.begin(now: .zero)
        machine.subscribed(now: .zero)
        machine.disconnected()
        #expect(machine.tick(now: .seconds(60), isBehind: false) == [])
    }
}
