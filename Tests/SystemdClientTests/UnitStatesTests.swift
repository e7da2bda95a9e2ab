// SPDX-License-Identifier: Apache-2.0

import Logging
import Testing

@testable import EventLoopIO
@testable import SystemdClient

@Suite("The states of a unit", .timeLimit(.minutes(5)))
@EventLoop struct UnitStatesTests {
    private let bus: FakeBus
    private let units: UnitBus

    init() throws {
        bus = try FakeBus()
        // A slow machine does not count as a silent manager.
        let limits = ManagerWatch.Limits(answer: .seconds(3600), absence: .seconds(3600), betweenPings: .seconds(3600))
        units = UnitBus(
            on: bus.address, limits: limits, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        for name in ["db.service", "web.service"] {
            bus.units[name] = ["LoadState": "loaded", "ActiveState": "active", "SubState": "running"]
        }
    }

    private static func text(_ state: UnitObservation?) -> String? {
        switch state {
        case .properties(let unit): "\(unit.activeState) (\(unit.subState))"
        case .unreachable(let reason): reason
        case .unanswered: "no answer"
        case nil: nil
        }
    }

    @Test(
        "begin with the present one, continue with each change and the loss of the bus, for each iteration"
    )
    func states() async {
        var texts: [String?] = []
        for await state in UnitStates("db.service", over: units) {
            texts.append(Self.text(state))
            switch texts.count {
            case 1: bus.change("db.service", ["ActiveState": "failed", "SubState": "failed"])
            case 2:
                // The loss is the newest state only while nobody can connect.
                bus.isAccepting = false
                bus.drop()
            case 3: bus.isAccepting = true
            default: break
            }
            if texts.count == 4 { break }
        }
        #expect(
            texts == ["active (running)", "failed (failed)", "the system bus closed the connection", "failed (failed)"])
        var again = UnitStates("db.service", over: units).makeAsyncIterator()
        #expect(Self.text(await again.next()) == "failed (failed)")
    }

    @Test("are those of the service if the name has no suffix")
    func shortName() async {
        for name in ["db", "db.service"] {
            var states = UnitStates(name, over: units).makeAsyncIterator()
            #expect(Self.text(await states.next()) == "active (running)", "\(name)")
        }
    }

    @Test("are no longer followed when the loop that reads them ends")
    func scope() async {
        let other = UnitStates("web.service", over: units)
        var others = other.makeAsyncIterator()
        #expect(Self.text(await others.next()) == "active (running)")
        for await _ in UnitStates("db.service", over: units) {
            #expect(units.subjects[.unit("db.service")] != nil)
            break
        }
        bus.change("web.service", ["SubState": "exited"])
        #expect(Self.text(await others.next()) == "active (exited)")
        #expect(units.subjects[.unit("db.service")] == nil)
    }

    @Test("end with their task")
    func cancellation() async {
        let (began, begin) = AsyncStream.makeStream(of: Void.self)
        let states = UnitStates("db.service", over: units)
        let task = Task { @EventLoop in
            var texts: [String?] = []
            for await state in states {
                texts.append(Self.text(state))
                begin.yield()
            }
            return texts
        }
        for await _ in began { break }
        task.cancel()
        #expect(await task.value == ["active (running)"])
    }

    @Test("are no longer delivered after their task was cancelled, even if one waits")
    func cancelledBeforeTaken() async {
        let (bus, states) = (bus, UnitStates("db.service", over: units))
        let task = Task { @EventLoop in
            var (iterator, others) = (states.makeAsyncIterator(), states.makeAsyncIterator())
            _ = await (iterator.next(), others.next())
            bus.change("db.service", ["SubState": "exited"])
            // By now, the handler of the first one has been called, too.
            _ = await others.next()
            withUnsafeCurrentTask { $0?.cancel() }
            return await iterator.next()
        }
        #expect(await task.value == nil)
    }

    @Test("wait for a slow consumer only as the newest one")
    func slow() async {
        var states = UnitStates("db.service", over: units).makeAsyncIterator()
        #expect(Self.text(await states.next()) == "active (running)")
        var others = UnitStates("db.service", over: units).makeAsyncIterator()
        _ = await others.next()
        for state in ["reload", "exited"] {
            bus.change("db.service", ["SubState": state])
            #expect(Self.text(await others.next()) == "active (\(state))")
        }
        #expect(Self.text(await states.next()) == "active (exited)")
    }
}
