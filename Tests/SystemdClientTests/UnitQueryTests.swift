// SPDX-License-Identifier: Apache-2.0

import Logging
import Testing

@testable import EventLoopIO
@testable import SystemdClient

@Suite("Queries for units on a bus", .timeLimit(.minutes(5)))
@EventLoop struct UnitQueryTests {
    private let bus: FakeBus
    private let reports: AsyncStream<String>
    private let told: AsyncStream<String>.Continuation

    init() throws {
        bus = try FakeBus()
        (reports, told) = AsyncStream.makeStream()
        for name in ["web-1.service", "web-2.service", "db.service"] {
            bus.units[name] = ["LoadState": "loaded", "ActiveState": "active", "SubState": "running"]
        }
    }

    /// - Parameter delay: from a signal to the listing.
    private func follow(_ query: UnitQuery, delay: Duration = .zero) -> UnitSubscription {
        // A test may have to wait for a processor for longer than any limit.
        let limits = ManagerWatch.Limits(
            answer: .seconds(3600), absence: .seconds(3600), betweenPings: .seconds(3600), beforeListing: delay)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        return UnitBus(on: bus.address, limits: limits, logger: logger).follow(query) { [told] report in
            switch report {
            case .names(let names): told.yield(names.joined(separator: " "))
            case .observation(.unreachable(let reason)): told.yield(reason)
            case .observation(.unanswered): told.yield("no answer")
            case .observation(.properties): told.yield("properties")
            }
        }
    }

    private func next() async -> String? {
        var iterator = reports.makeAsyncIterator()
        return await iterator.next()
    }

    @Test("the units that match are reported, and again when one fails, is loaded or is unloaded")
    func matching() async {
        let subscription = follow(UnitQuery(patterns: ["web-*", "db.service"], states: ["active"]))
        #expect(await next() == "db.service web-1.service web-2.service")
        bus.change("web-2.service", ["ActiveState": "failed"])
        #expect(await next() == "db.service web-1.service")
        bus.units["web-3.service"] = ["LoadState": "loaded", "ActiveState": "active"]
        bus.load("web-3.service")
        #expect(await next() == "db.service web-1.service web-3.service")
        bus.units["db.service"] = nil
        bus.unload("db.service")
        #expect(await next() == "web-1.service web-3.service")
        withExtendedLifetime(subscription) {}
    }

    @Test("stopped units that do not exist or are masked do not count; running ones do")
    func unusable() async {
        bus.units["web-1.service"] = ["LoadState": "not-found", "ActiveState": "inactive"]
        bus.units["web-2.service"] = ["LoadState": "masked", "ActiveState": "inactive"]
        bus.units["web-3.service"] = ["LoadState": "masked", "ActiveState": "active"]
        bus.units["web-4.service"] = ["LoadState": "loaded", "ActiveState": "inactive"]
        let subscription = follow(UnitQuery(patterns: ["web-*"]))
        #expect(await next() == "web-3.service web-4.service")
        withExtendedLifetime(subscription) {}
    }

    @Test("any number of signals causes one listing after a while; a request, a listing at once")
    func bounded() async {
        let subscription = follow(UnitQuery(patterns: ["*"], states: ["failed"]), delay: .seconds(3600))
        #expect(await next() == "")
        for number in 0..<500 {
            bus.change("db.service", ["ActiveState": number.isMultiple(of: 2) ? "failed" : "active"])
        }
        bus.change("web-1.service", ["ActiveState": "failed"])
        await subscription.read(within: .seconds(60))
        #expect(await next() == "web-1.service")
        #expect(bus.calls.count { $0.hasPrefix("ListUnitsByPatterns") } == 2)
    }

    @Test("a lost connection is reported, and the units again after a new one, even if they are the same")
    func lost() async {
        let subscription = follow(UnitQuery(patterns: ["db.*"]))
        #expect(await next() == "db.service")
        bus.drop()
        #expect(await next() == "the system bus closed the connection")
        #expect(await next() == "db.service")
        withExtendedLifetime(subscription) {}
    }

    @Test("a manager that cannot list its units, or does not answer in time, is reported as such")
    func refused() async {
        bus.failing = ["ListUnitsByPatterns"]
        let subscription = follow(UnitQuery(patterns: ["db.*"]))
        #expect(await next() == "no buffer space available")
        bus.failing = []
        bus.load("db.service")
        #expect(await next() == "db.service")
        bus.isAnswering = false
        await subscription.read(within: .milliseconds(1))
        #expect(await next() == "no answer")
    }
}
