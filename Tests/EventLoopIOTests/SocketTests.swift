// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import EventLoopIO

@Suite("Unix sockets", .timeLimit(.minutes(5))) struct SocketTests {
    private func temporaryPath() -> String { "/tmp/statusd-test-\(UUID().uuidString.prefix(8))" }

    @Test("a socket with a living listener is refused; a socket without one is replaced")
    func livingAndDead() throws {
        let path = temporaryPath()
        defer { unlink(path) }
        var living: OwnedDescriptor? = try UnixSocket.listen(at: path, mode: 0o600)
        let refusal = #expect(throws: IOError.self) { try UnixSocket.listen(at: path, mode: 0o600) }
        #expect(refusal?.code == .addressInUse)
        #expect(living != nil)
        living = nil
        _ = try UnixSocket.listen(at: path, mode: 0o600)
    }

    @Test("a path that is not a socket is refused and never removed")
    func foreignFile() throws {
        let path = temporaryPath()
        defer { unlink(path) }
        try "precious".write(toFile: path, atomically: true, encoding: .utf8)
        let refusal = #expect(throws: IOError.self) { try UnixSocket.listen(at: path, mode: 0o600) }
        #expect(refusal?.code == .notASocket)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "precious")
    }

    @Test("a path that is too long and an invalid address have their own errors")
    func addresses() throws {
        let long = #expect(throws: IOError.self) {
            try UnixAddress(parsing: "/" + String(repeating: "x", count: 108))
        }
        #expect(long?.code == .pathTooLong)
        for text in ["", "unix:", "relative", "@", "tcp:1"] {
            let error = #expect(throws: IOError.self) { try UnixAddress(parsing: text) }
            #expect(error?.code == .invalidAddress)
        }
        #expect(try UnixAddress(parsing: "unix:@x") == .abstract("x"))
        #expect(try UnixAddress(parsing: "/x") == .path("/x"))
    }

    @Test("a connected client's credentials are reported")
    func credentials() async throws {
        let path = temporaryPath()
        defer { unlink(path) }
        let listener = try UnixSocket.listen(at: path, mode: 0o600)
        let client = try await UnixSocket.connect(to: .path(path))
        let accepted = try #require(try UnixSocket.accept(listener.rawValue))
        let credentials = try PeerCredentials(ofConnected: accepted.rawValue)
        #expect(credentials.processID == getpid())
        #expect(credentials.userID == geteuid())
        withExtendedLifetime(client) {}
    }
}
