// SPDX-License-Identifier: Apache-2.0

import StatusModel
import Testing

@testable import StatusMQTT

@Suite("Hosts that are lost, or the broker") struct LossHoldTests {
    private func report(_ state: HostState?, of host: String = "web1") throws -> FollowReport {
        let presence = state.map { Presence(state: $0, epoch: 1, machine: String(repeating: "0", count: 32)) }
        return .host(try #require(ServerName(host)), presence, clockDifference: nil)
    }

    @Test("a host that was ready is lost two seconds later, unless it is heard before")
    func later() throws {
        var losses = LossHold()
        for host in ["web1", "web2"] {
            #expect(losses.take(try report(.ready, of: host), now: .zero, returnsEnd: .zero) != nil)
            #expect(losses.take(try report(.lost, of: host), now: .seconds(1), returnsEnd: .zero) == nil)
        }
        #expect(losses.take(try report(.ready, of: "web2"), now: .seconds(2), returnsEnd: .zero) != nil)
        #expect(losses.takeDue(now: .seconds(2)) == [])
        #expect(losses.takeDue(now: .seconds(3)) == [try report(.lost)])
        #expect(losses.readyHosts.map(\.rawValue) == ["web2"])
        #expect(losses.takeDue(now: .seconds(9)) == [])
    }

    @Test("wills before the end of the connection are those of a broker that is stopped")
    func stoppedBroker() throws {
        var losses = LossHold()
        _ = losses.take(try report(.ready), now: .zero, returnsEnd: .zero)
        for (host, state, second) in [("web1", HostState.lost, 10.0), ("web2", .lost, 8.9), ("web3", .stopped, 10)] {
            _ = losses.take(try report(.ready, of: host), now: .zero, returnsEnd: .zero)
            _ = losses.take(try report(state, of: host), now: .seconds(second), returnsEnd: .zero)
        }
        let earlier = [try report(.lost, of: "web2"), try report(.stopped, of: "web3")]
        #expect(losses.disconnected(now: .seconds(10)) == earlier)
        #expect(losses.takeDue(now: .seconds(100)) == [])
        // The broker has kept the will, and the host needs some time to come back.
        #expect(losses.take(try report(.lost), now: .seconds(100), returnsEnd: .seconds(130)) == nil)
        #expect(losses.takeDue(now: .seconds(129)) == [])
        #expect(losses.takeDue(now: .seconds(130)) == [try report(.lost)])
    }

    @Test("a restart of a host's statusd-mqtt is not told")
    func restart() throws {
        var losses = LossHold()
        _ = losses.take(try report(.ready), now: .zero, returnsEnd: .zero)
        #expect(losses.take(try report(.stopped), now: .seconds(1), returnsEnd: .zero) == nil)
        #expect(losses.take(try report(.ready), now: .seconds(2), returnsEnd: .zero) == (try report(.ready)))
        #expect(losses.takeDue(now: .seconds(9)) == [])
    }

    @Test("a host that was not ready before, or is gone, is told at once")
    func atOnce() throws {
        var losses = LossHold()
        for state in [HostState.lost, .stopped, nil] {
            #expect(losses.take(try report(state), now: .zero, returnsEnd: .seconds(30)) == (try report(state)))
        }
        _ = losses.take(try report(.ready), now: .zero, returnsEnd: .zero)
        #expect(losses.take(try report(nil), now: .zero, returnsEnd: .zero) == (try report(nil)))
        #expect(losses.readyHosts.isEmpty)
    }
}
