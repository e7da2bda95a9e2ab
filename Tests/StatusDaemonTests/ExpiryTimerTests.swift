// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusModel
import StatusMonitor
import Testing

@testable import StatusDaemon

@Suite("The timer for stale statuses", .timeLimit(.minutes(5))) struct ExpiryTimerTests {
    @Test("a later time does not delay an earlier one, even if it is set afterwards")
    @EventLoop func earliest() async throws {
        let monitor = StatusMonitor()
        let timer = try ExpiryTimer(monitor: monitor)
        defer { withExtendedLifetime(timer) {} }
        let name = try #require(ServerName("backup"))
        monitor.add(ServerDefinition(name: name, source: "push", timeToLive: .milliseconds(1)))
        try monitor.post(try StatusText("done"), to: name)
        // The time that the post has set has not reached the loop yet.
        EventLoop.perform { timer.schedule(Moment.now().boot + .seconds(3600)) }
        while try !monitor.state(of: name).isStale { await Task.yield() }
    }
}
