// SPDX-License-Identifier: Apache-2.0

import StatusModel
import StatusMonitor
import TestSupport
import Testing

@Suite("This host among the others, as its connection to a broker")
struct OwnHostTests {
    private let fixture = MonitorFixture(servers: ["local"], capacities: 256...256)
    private var monitor: StatusMonitor { fixture.monitor }

    private func hear(_ state: HostState, _ epoch: Int = 1, of host: String = "web1") throws {
        try monitor.report(
            HostReport(state: state, epoch: epoch, clockDifference: .zero), of: name(host), limit: 1)
    }

    private func state(_ server: String) throws -> ServerState { try monitor.state(of: name(server)) }

    @Test("this host is lost before the others are, which are behind it")
    func ownHost() throws {
        let hub = name("hub")
        monitor.setOwnHost(hub)
        try hear(.ready, 1, of: "hub")
        try hear(.ready)
        #expect(try state("web1").parent == hub && state("hub").parent == nil)
        try hear(.lost, 1, of: "hub")
        #expect(try state("hub").headline == "no connection to a broker")
        #expect(try state("web1").isHealthy)
        try hear(.ready, 2, of: "hub")
        fixture.advance(by: 130_000)
        monitor.expire()
        #expect(try state("hub").countedLevel == .critical)
        #expect(try state("web1").isHealthy)
        for _ in 0..<3 { _ = monitor.endReportPass() }
        #expect(monitor.hostNames == [hub])
    }

    @Test("if this host gets another name, the others are behind that one")
    func renamedOwnHost() throws {
        monitor.setOwnHost(name("hub"))
        try hear(.ready)
        monitor.setOwnHost(name("other"))
        try hear(.ready)
        #expect(try state("web1").parent == name("other"))
    }

    @Test("this host is lost if nothing is reported of its connection")
    func silentOwnHost() throws {
        monitor.setOwnHost(name("hub"))
        fixture.advance(by: 124_000)
        monitor.expire()
        #expect(monitor.hostNames == [])
        fixture.advance(by: 1000)
        monitor.expire()
        #expect(try state("hub").headline == "statusd-mqtt does not report")
        #expect(monitor.host(name("hub"))?.state == .lost)
        try hear(.ready, of: "hub")
        #expect(try state("hub").isHealthy)
        monitor.setOwnHost(name("other"))
        monitor.removeHosts()
        fixture.advance(by: 125_000)
        monitor.expire()
        #expect(monitor.hostNames == [])
    }
}
