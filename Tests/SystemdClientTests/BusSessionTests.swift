// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import EventLoopIO
@testable import SystemdClient

@Suite("A connection of sd-bus", .timeLimit(.minutes(1)))
@EventLoop struct BusSessionTests {
    @Test("says that the bus closed it, also if that is noticed when a call is sent")
    func closed() async throws {
        let bus = try FakeBus()
        let replies = Atomic(0)
        let settings = BusSettings(
            address: bus.address, service: FakeBus.manager, wanted: [], filter: BusFilter())
        let session = try BusSession(settings) { event in
            if case .reply = event { replies.add(1, ordering: .relaxed) }
        }
        let call = BusCall(
            destination: FakeBus.manager, path: "/", interface: "org.example", member: "Echo", arguments: [],
            timeout: .seconds(60))
        try session.send(call)
        while replies.load(ordering: .relaxed) == 0 {
            _ = try session.process()
            await Task.yield()
        }
        bus.drop()
        #expect {
            try session.send(call)
        } throws: {
            ($0 as? IOError)?.message == "the system bus closed the connection"
        }
    }
}
