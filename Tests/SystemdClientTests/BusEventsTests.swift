// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import EventLoopIO
@testable import SystemdClient

@Suite("Events from the bus for the loop") struct BusEventsTests {
    private func signal(_ member: String, _ strings: [String] = [], path: String? = nil) -> BusThread.Event {
        .signal(BusMessage(path: path, member: member, strings: strings))
    }

    /// Takes all events, as words.
    private func takeAll(_ events: inout BusEvents) -> [String] {
        var words: [String] = []
        while let event = events.next() {
            switch event {
            case .signal(let message): words.append(message.member ?? "")
            case .reply(let number, _): words.append("reply \(number)")
            case .disturbed: words.append("disturbed")
            case .lost(let reason): words.append(reason)
            }
        }
        return words
    }

    @Test("are announced once until all have been taken, and arrive in order")
    func order() {
        var events = BusEvents()
        let isAnnounced1 = events.add(signal("Reloading"))
        #expect(isAnnounced1)
        let isAnnounced2 = events.add(.reply(1, BusMessage()))
        #expect(!isAnnounced2)
        let isAnnounced3 = events.add(.lost("gone"))
        #expect(!isAnnounced3)
        #expect(takeAll(&events) == ["Reloading", "reply 1", "gone"])
        let isAnnounced4 = events.add(.disturbed)
        #expect(isAnnounced4)
    }

    @Test("report once for each unit that it was loaded or unloaded, until that has been taken")
    func units() {
        var events = BusEvents()
        for _ in 0..<10_000 {
            _ = events.add(signal("UnitNew", ["a.service", "/a"]))
            _ = events.add(signal("UnitRemoved", ["a.service", "/a"]))
            _ = events.add(signal("UnitNew", ["b.service", "/b"]))
        }
        #expect(takeAll(&events) == ["UnitNew", "UnitNew"])
        let isAnnounced5 = events.add(signal("UnitRemoved", ["a.service", "/a"]))
        #expect(isAnnounced5)
        #expect(takeAll(&events) == ["UnitRemoved"])
    }

    @Test("are limited: too many signals are reported as dropped; replies stay")
    func bounded() {
        var events = BusEvents()
        _ = events.add(.reply(1, BusMessage()))
        for _ in 0..<1025 { _ = events.add(signal("PropertiesChanged", ["x"], path: "/a")) }
        _ = events.add(.reply(2, BusMessage()))
        #expect(takeAll(&events) == ["reply 1", "disturbed", "reply 2"])
        for _ in 0..<1024 { _ = events.add(signal("PropertiesChanged", ["x"], path: "/a")) }
        // Only the service manager causes this signal, and everything else depends on it.
        for _ in 0..<2 { _ = events.add(signal("NameOwnerChanged")) }
        _ = events.add(signal("Reloading"))
        #expect(takeAll(&events) == ["NameOwnerChanged", "NameOwnerChanged", "disturbed"])
        _ = events.add(signal("NameOwnerChanged"))
        for _ in 0..<1024 { _ = events.add(signal("PropertiesChanged", ["x"], path: "/a")) }
        #expect(takeAll(&events).count == 1025)
        _ = events.add(signal("Reloading"))
        #expect(takeAll(&events) == ["Reloading"])
    }

    @Test("concern only units that have a follower")
    func filter() {
        let filter = BusFilter()
        filter.change { $0 = ["a.service", "/a"] }
        #expect(filter.mayPass(member: "UnitNew", path: "/manager"))
        #expect(filter.mayPass(member: "PropertiesChanged", path: "/a"))
        #expect(!filter.mayPass(member: "PropertiesChanged", path: "/b"))
        #expect(!filter.mayPass(member: "PropertiesChanged", path: nil))
        #expect(filter.passes(BusMessage(member: "UnitNew", strings: ["a.service", "/a"])))
        #expect(!filter.passes(BusMessage(member: "UnitRemoved", strings: ["b.service", "/a"])))
        #expect(!filter.passes(BusMessage(member: "UnitRemoved")))
        #expect(filter.passes(BusMessage(member: "Reloading")))
        #expect(filter.passes(BusMessage(member: "NameOwnerChanged", strings: ["x", "", ":1.1"])))
    }

    @EventLoop
    @Test("find units by all of their names; a shared name is kept until the last of its units has gone")
    func index() {
        let index = UnitIndex()
        let (alias, unit) = (FollowedUnit("web.service"), FollowedUnit("nginx.service"))
        index.update(alias)
        alias.onRename = { index.update(alias) }
        _ = alias.begin()
        alias.know(["Id": "nginx.service", "LoadState": "loaded"], wasLoaded: true)
        index.update(unit)
        #expect(index["web.service"].map(\.name) == ["web.service"])
        #expect(index["nginx.service"].map(\.name) == ["web.service", "nginx.service"])
        #expect(index["/org/freedesktop/systemd1/unit/nginx_2eservice"].count == 2)
        index.remove(unit)
        #expect(index.filter.passes(BusMessage(member: "UnitNew", strings: ["nginx.service"])))
        index.remove(alias)
        #expect(!index.filter.passes(BusMessage(member: "UnitNew", strings: ["nginx.service"])))
        #expect(index["web.service"].isEmpty)
    }
}
