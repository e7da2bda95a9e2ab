// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusModel
import StatusMonitor
import Synchronization
import Testing

@testable import StatusDaemon

@Suite("Silences end", .timeLimit(.minutes(5)))
@EventLoop struct SilenceKeeperTests {
    private final class Clock: Sendable {
        let now = Mutex(Moment(wall: Timestamp(milliseconds: 1_795_900_000_000), boot: .seconds(1000)))
    }

    private let clock = Clock()
    private let monitor = StatusMonitor()
    private let keeper: SilenceKeeper
    private let recorder: ChangeRecorder
    private let web: ServerName

    init() throws {
        web = try #require(ServerName("web"))
        monitor.add(ServerDefinition(name: web, source: "push"))
        let clock = clock
        keeper = try SilenceKeeper(monitor: monitor) { clock.now.withLock { $0 } }
        recorder = try ChangeRecorder(monitor: monitor, sinks: [keeper])
    }

    private func silence(for seconds: Int?) throws {
        let now = clock.now.withLock { $0.wall }
        try monitor.silence(web, Silence(since: now, until: seconds.map { now + .seconds($0) }))
    }

    /// Whether the server is silenced after some time, at the end of a turn.
    private func isSilenced(after seconds: Int = 0) throws -> Bool {
        clock.now.withLock { $0 = Moment(wall: $0.wall + .seconds(seconds), boot: $0.boot + .seconds(seconds)) }
        recorder.read()
        keeper.turnEnds()
        return try monitor.state(of: web).silence != nil
    }

    @Test("at their time, whatever the server's level is")
    func time() throws {
        try monitor.post(StatusText("bad"), level: .critical, to: web)
        try silence(for: 60)
        #expect(try isSilenced(after: 59))
        try monitor.post(StatusText("good"), to: web)
        #expect(try isSilenced())
        #expect(try !isSilenced(after: 1))
    }

    @Test("when the server is ok, if they last until then, but not before")
    func untilOK() throws {
        try silence(for: nil)
        for level in [Level.warning, .unknown, .critical] {
            try monitor.post(StatusText("bad"), level: level, to: web)
            #expect(try isSilenced(after: 86_400))
        }
        try monitor.post(StatusText("good"), to: web)
        #expect(try !isSilenced())
    }

    @Test("also if they began in an earlier run of the daemon")
    func earlierRun() throws {
        try silence(for: 60)
        let clock = clock
        let next = try SilenceKeeper(monitor: monitor) { clock.now.withLock { $0 } }
        clock.now.withLock { $0.wall = $0.wall + .seconds(60) }
        next.turnEnds()
        #expect(try monitor.state(of: web).silence == nil)
    }
}
