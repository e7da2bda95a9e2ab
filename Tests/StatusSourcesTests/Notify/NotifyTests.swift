// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusModel
import Testing

@testable import StatusSources

@Suite("Settings of notify sockets") struct NotifySettingsTests {
    @Test("true, false, or the users who may send are read")
    func reads() throws {
        #expect(try NotifySettings.read("notify: true").settings == NotifySettings())
        #expect(try NotifySettings.read("notify: false").settings == nil)
        let settings = try #require(try NotifySettings.read("notify: { users: [postgres, 33] }").settings)
        #expect(settings == NotifySettings(users: ["postgres", "33"]))
        #expect(settings.requirements == [.user("postgres"), .user("33")])
    }

    @Test("other users do not make another source")
    func subject() {
        let settings = [NotifySettings(users: ["postgres"]), NotifySettings()]
        #expect(Set(settings.map { AnySourceSettings($0).identity }).count == 1)
    }

    @Test(
        "invalid settings are refused",
        arguments: ["yes please", "[postgres]", "{ users: postgres }", "{ user: [postgres] }"])
    func mistakes(_ value: String) {
        #expect(throws: Problem.self) { try NotifySettings.read("notify: \(value)") }
    }
}

@Suite("The status from sd_notify messages") struct NotifyStateTests {
    private func message(_ datagram: String) -> NotifyMessage? {
        Array(datagram.utf8).withUnsafeBytes { NotifyMessage($0) }
    }

    /// The reactions to a program that sends these datagrams, one after another.
    private func reactions(_ datagrams: String...) -> [String] {
        var state = NotifyState()
        return datagrams.map { datagram in
            guard let message = message(datagram) else { return "refused" }
            return switch state.take(message, from: 0) {
            case .post(let text, let level): "\(text) [\(level)]"
            case .touch: "touch"
            case .nothing: "nothing"
            }
        }
    }

    @Test("text and level follow the life of a service")
    func life() {
        #expect(
            reactions(
                "STATUS=Loading", "READY=1", "STATUS=Serving 12 clients", "RELOADING=1\nMONOTONIC_USEC=1", "READY=1",
                "WATCHDOG=1", "STOPPING=1")
                == [
                    "Loading [ok]", "Loading [ok]", "Serving 12 clients [ok]", "reloading [ok]",
                    "Serving 12 clients [ok]",
                    "touch", "stopping [warning]",
                ])
    }

    @Test("lines end as in systemd's own messages, also with a carriage return")
    func carriageReturns() {
        #expect(
            reactions("STATUS=a\r\n", "READY=1\r\nSTATUS=b\r\n", "STATUS=c\rSTOPPING=1", "WATCHDOG=1\r", "STATUS=d\r")
                == ["a [ok]", "b [ok]", "c [warning]", "touch", "d [warning]"])
    }

    @Test("of two statuses or error numbers in a message, the first one counts, as in systemd")
    func twoValues() {
        #expect(reactions("ERRNO=2\nERRNO=13") == reactions("ERRNO=2"))
        #expect(
            reactions("STATUS=a\nSTATUS=b", "STATUS=\nSTATUS=c\nREADY=1", "READY=1\nSTOPPING=1\nSTATUS=d\nSTATUS=e")
                == ["a [ok]", "ready [ok]", "d [warning]"])
    }

    @Test("the reports of one user's programs can be forgotten without those of another user")
    func forgets() throws {
        var state = NotifyState()
        func take(_ datagram: String, from sender: UInt32) -> NotifyState.Reaction {
            message(datagram).map { state.take($0, from: sender) } ?? .nothing
        }
        _ = take("STATUS=Evil", from: 1)
        _ = take("ERRNO=2", from: 2)
        state.forget([1])
        #expect(take("STATUS=Still trying", from: 3) == .post(try StatusText("Still trying"), .critical))
        // The earlier report of another user's program counts again.
        _ = take("READY=1", from: 4)
        state.forget([4])
        #expect(take("STATUS=Still trying", from: 3) == .post(try StatusText("Still trying"), .critical))
        state.forget([2])
        #expect(take("WATCHDOG=1\nREADY=1", from: 3) == .post(try StatusText("Still trying"), .ok))
        state.forget([3])
        #expect(take("READY=1", from: 2) == .post(try StatusText("ready"), .ok))
    }

    @Test("a message that is too long is not read to its end, whatever it contains")
    func long() {
        for part in ["x", "ä", "\u{301}", "\u{1F1E6}", "\u{80}"] {
            let text = reactions("STATUS=" + String(repeating: part, count: 20_000)).first ?? ""
            #expect(text.utf8.count <= 1024 + " [ok]".utf8.count && text.hasSuffix("… [ok]"))
        }
        let lines = String(repeating: "X=1\r\n", count: 127)
        #expect(reactions(lines + "STATUS=last") == ["last [ok]"])
        #expect(reactions("STATUS=first\n" + lines + "STATUS=too late") == ["refused"])
        for blank in [String(repeating: "\n", count: 200), String(repeating: "\r\n", count: 30_000)] {
            #expect(reactions(blank + "STATUS=a" + blank + "STOPPING=1" + blank) == ["a [warning]"])
            #expect(reactions(lines + "STATUS=last" + blank) == ["last [ok]"])
            #expect(reactions(lines + "STATUS=last" + blank + "X=1") == ["refused"])
        }
        #expect(reactions("READY=1\0STOPPING=1", "READY=1\0") == ["refused", "ready [ok]"])
    }

    @Test("failures are critical; the text of the error number is used if the program has none")
    func failures() {
        #expect(reactions("ERRNO=2") == ["No such file or directory [critical]"])
        #expect(reactions("STATUS=Disk gone\nERRNO=5") == ["Disk gone [critical]"])
        #expect(reactions("WATCHDOG=trigger") == ["watchdog triggered [critical]"])
        #expect(reactions("ERRNO=0", "ERRNO=x", "ERRNO=99999") == ["nothing", "nothing", "nothing"])
        #expect(reactions("ERRNO=EIO") == ["Input/output error [critical]"])
        #expect(reactions("ERRNO=EWOULDBLOCK") == reactions("ERRNO=EAGAIN"))
        #expect(reactions("ERRNO=x\nERRNO=5", "ERRNO=EIOX", "ERRNO=-5") == ["nothing", "nothing", "nothing"])
        #expect(reactions("WATCHDOG_USEC=x\nWATCHDOG=0\nWATCHDOG=trigger") == ["nothing"])
        #expect(reactions("STATUS=Failed\nBUSERROR=org.example.Broken") == ["Failed [critical]"])
        #expect(reactions("BUSERROR=org.example.Broken") == ["org.example.Broken [critical]"])
        #expect(
            reactions("BUSERROR= ", "VARLINKERROR=", "BUSERROR= \nREADY=1") == ["nothing", "nothing", "ready [ok]"])
    }

    @Test("a program that stops after a failure is as bad, whatever the order, until it is ready again")
    func stopsAfterFailure() {
        for message in ["STATUS=no disk\nERRNO=28\nSTOPPING=1", "STOPPING=1\nERRNO=28\nSTATUS=no disk"] {
            #expect(reactions(message) == ["no disk [critical]"])
        }
        #expect(
            reactions("ERRNO=28", "STOPPING=1", "READY=1", "STOPPING=1") == [
                "No space left on device [critical]", "touch", "ready [ok]", "stopping [warning]",
            ])
    }

    @Test("a program that reloads after a failure, or that another user stops, is as bad until it is ready")
    func reloadsAfterFailure() throws {
        #expect(
            reactions("STATUS=up", "ERRNO=28", "RELOADING=1", "STATUS=again\nRELOADING=1", "READY=1") == [
                "up [ok]", "No space left on device [critical]", "touch", "again [critical]", "again [ok]",
            ])
        var state = NotifyState()
        _ = state.take(try #require(message("ERRNO=28")), from: 33)
        #expect(state.take(try #require(message("STOPPING=1")), from: 0) == .touch)
        #expect(state.take(try #require(message("STATUS=bye")), from: 0) == .post(try StatusText("bye"), .critical))
    }

    @Test(
        "of two conditions in a message, stopping counts more than ready, and ready more than reloading, in any order")
    func twoConditions() {
        #expect(
            reactions("STOPPING=1\nREADY=1", "STOPPING=1\nRELOADING=1", "READY=1\nRELOADING=1", "RELOADING=1\nREADY=1")
                == ["stopping [warning]", "stopping [warning]", "ready [ok]", "ready [ok]"])
    }

    @Test("of two values of the watchdog, the first one counts, as in systemd")
    func watchdogValues() {
        #expect(reactions("WATCHDOG=1\nWATCHDOG=trigger") == ["touch"])
    }

    @Test("unknown assignments and junk change nothing")
    func junk() {
        #expect(
            reactions("", "\n\n", "=", "FDSTORE=1", "BARRIER=1", "READY=0", "\0")
                == Array(repeating: "nothing", count: 7))
    }

    @Test("a text is one visible line, cut if it is too long")
    func texts() {
        #expect(reactions("STATUS=\u{1b}[2Jx", "STATUS= \t ") == [#"\u{1b}[2Jx [ok]"#, "running [ok]"])
        let cut = reactions("STATUS=" + String(repeating: "x", count: 2000))[0]
        #expect(cut.hasSuffix("x… [ok]"))
        #expect(cut.utf8.count == 1024 + " [ok]".utf8.count)
    }

    @Test(
        "a watchdog's time is limited to a sensible range",
        arguments: [
            ("WATCHDOG_USEC=2000000", Duration.seconds(2)), ("WATCHDOG_USEC=0", .zero),
            ("WATCHDOG_USEC=1", .milliseconds(100)),
            ("WATCHDOG_USEC=18446744073709551615", .zero),
            ("WATCHDOG_USEC=2000000\nWATCHDOG_USEC=3000000", .seconds(2)),
            ("WATCHDOG_USEC=-1", nil), ("WATCHDOG_USEC=soon", nil), ("WATCHDOG=1", nil),
        ])
    func watchdogTime(_ datagram: String, _ time: Duration?) {
        #expect(message(datagram)?.watchdogTime == time)
    }
}
