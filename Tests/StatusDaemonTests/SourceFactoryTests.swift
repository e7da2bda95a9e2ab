// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import SourceKinds
import StatusConfiguration
import StatusModel
import StatusSources
import Testing

@testable import StatusDaemon

@Suite("The factory of sources", .timeLimit(.minutes(5)))
@EventLoop struct SourceFactoryTests {
    private let fixture: DaemonFixture
    private let name: ServerName

    init() throws {
        fixture = try DaemonFixture()
        name = try #require(ServerName("a"))
    }

    private func start(_ settings: (any SourceSettings)?) throws -> (any Source)? {
        let server = ServerConfiguration(
            source: settings.map(AnySourceSettings.init), placeholder: "", origin: Origin(file: "test"))
        return try fixture.factory.start(server, of: name, predecessor: nil, shown: nil)
    }

    @Test("makes no source for push or a group of pushes; that of each other kind can be refreshed, or listens")
    func kinds() throws {
        #expect(try start(PushSettings()) == nil)
        #expect(try start(nil) == nil)
        #expect(try start(GroupSettings(GroupRule(names: [name]))) == nil)
        let refreshable: [any SourceSettings] = [
            ExecSettings(command: ["/bin/true"]), TCPSettings(host: "127.0.0.1", port: 9),
            PingSettings(host: "127.0.0.1"), DNSSettings(name: "a"), FileSettings(path: "/"),
            HTTPSettings(url: "http://127.0.0.1:9/"), UnitSettings(unit: "a.service"),
            UnitsSettings(state: .failed), DiskSettings(path: "/"), MemorySettings(), PressureSettings(.cpu),
            LoadSettings(), ProcessSettings(name: "a"),
            CertificateSettings(host: "127.0.0.1", port: 9), JournalSettings(unit: "a.service"),
        ]
        // A new kind must be added here.
        let kinds = refreshable.map { type(of: $0).key } + [PushSettings.key, NotifySettings.key, GroupSettings.key]
        #expect(Set(kinds) == Set(SourceKinds.keys))
        for settings in refreshable {
            let made = try #require(try start(settings))
            #expect(made.refreshAction != nil, "\(settings)")
            made.close()
        }
        let notify = try #require(try start(NotifySettings()))
        #expect(notify.refreshAction == nil)
        #expect(fixture.hasNotifySocket("a"))
        notify.close()
        #expect(!fixture.hasNotifySocket("a"))
    }

    @Test("says why a notify socket cannot be opened")
    func failures() throws {
        let problem = #expect(throws: SourceProblem.self) { try start(NotifySettings(users: ["nobody-here"])) }
        #expect(problem?.description == "unknown user “nobody-here”; create it and run “statusctl reload”")
        let first = try start(NotifySettings())
        let second = #expect(throws: SourceProblem.self) { try start(NotifySettings()) }
        #expect(second?.description.contains("is in use by another process") == true)
        first?.close()
    }
}
