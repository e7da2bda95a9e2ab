// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import EventLoopIO
@testable import SystemdClient

@Suite("Sockets from the service manager", .timeLimit(.minutes(5))) struct ListeningSocketsTests {
    @Test("are returned by name, each once, and do not block")
    func handedOut() {
        let descriptors = (0..<3).map { _ in socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0) }
        let sockets = ListeningSockets(
            Array(zip(["control", "other", "control"], descriptors.map { OwnedDescriptor(adopting: $0) })))
        let taken = sockets.take(named: "control")
        #expect(taken.map(\.rawValue) == [descriptors[0], descriptors[2]])
        #expect(taken.allSatisfy { fcntl($0.rawValue, F_GETFL) & O_NONBLOCK != 0 })
        #expect(sockets.take(named: "control").isEmpty)
        sockets.giveBack(taken, named: "control")
        #expect(sockets.take(named: "control").map(\.rawValue) == taken.map(\.rawValue))
        #expect(sockets.take(named: "other").map(\.rawValue) == [descriptors[1]])
    }

    @Test("are empty if the service manager passed none")
    func none() {
        #expect(ListeningSockets.inherited.take(named: "varlink").isEmpty)
    }
}
