// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import SourceKinds
import Testing

@testable import StatusSources

@Suite("Settings of TCP ports") struct TCPSettingsTests {
    @Test("a host and a port are read")
    func reads() throws {
        #expect(try TCPSettings.read("tcp: '[::1]:6379'").settings == TCPSettings(host: "::1", port: 6379))
        #expect(try TCPSettings.read("tcp: localhost:1").settings == TCPSettings(host: "localhost", port: 1))
    }

    @Test(
        "invalid settings are refused",
        arguments: [
            "6379", "127.0.0.1", "'127.0.0.1:0'", "'127.0.0.1:65536'", "'::1:80'", "'http://a:80'", "':80'", "'a b:80'",
        ])
    func mistakes(_ value: String) {
        #expect(throws: Problem.self) { try TCPSettings.read("tcp: \(value)") }
    }
}

@Suite("Attempts to connect to a host's addresses") struct ConnectionAttemptsTests {
    /// Attempts for this many addresses.
    private func attempts(_ count: UInt16) async throws -> ConnectionAttempts {
        var addresses: [InternetAddress] = []
        for port in 1...count { addresses += try await Resolver.lookUp("127.0.0.1", port: port) }
        return ConnectionAttempts(addresses)
    }

    @Test("the first attempt needs a timer for the second; the last one needs none")
    func timer() async throws {
        var attempts = try await attempts(2)
        #expect(attempts.next()?.needsTimer == true)
        attempts.timeIsUp()
        #expect(attempts.next()?.needsTimer == false)
        #expect(attempts.next() == nil)
    }

    @Test("after a failure the next address is tried at once, without a second timer")
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

    @Test("eight addresses are tried at a time, and thirty-two in total")
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
