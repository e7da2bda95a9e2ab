// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Testing

@testable import StatusSources

@Suite("Attempts to connect to a host's addresses") struct ConnectionAttemptsTests {
    /// Attempts for this many addresses.
    private func attempts(_ count: UInt16) async throws -> ConnectionAttempts {
        var addresses: [InternetAddress] = []
        for port in 1...count { addresses += try await Resolver.lookUp("127.0.0.1", port: port) }
        return ConnectionAttempts(addresses)
    }

    @Test("the first needs a timer for the second; the last needs none")
    func timer() async throws {
        var attempts = try await attempts(2)
        #expect(attempts.next()?.needsTimer == true)
        attempts.timeIsUp()
        #expect(attempts.next()?.needsTimer == false)
        #expect(attempts.next() == nil)
    }

    @Test("after a failure the next one is tried at once, without a second timer")
    func oneTimer() async throws {
        var attempts = try await attempts(20)
        var timers = attempts.next()?.needsTimer == true ? 1 : 0
        for _ in 0..<10 {
            attempts.oneFailed()
            timers += attempts.next()?.needsTimer == true ? 1 : 0
        }
        #expect(timers == 1)
        #expect(attempts.underway == 1)
    }

    @Test("eight are tried at a time, and thirty-two in total")
    func bounds() async throws {
        var attempts = try await attempts(100)
        var tried = 0
        while attempts.next() != nil { tried += 1 }
        #expect(tried == 8)
        while attempts.underway > 0 {
            attempts.oneFailed()
            if attempts.next() != nil { tried += 1 }
        }
        #expect(tried == 32)
    }
}
