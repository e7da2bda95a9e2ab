// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import Testing

@testable import Varlink

@Suite("A client without a service", .timeLimit(.minutes(1)))
struct MissingServiceTests {
    @Test("Without a listener, the error says so")
    func findsNoService() async throws {
        try await withTemporaryDirectory { directory in
            await #expect {
                try await VarlinkConnection.connect(to: .path("\(directory)/socket"))
            } throws: {
                ($0 as? VarlinkClientError)?.code == .noService
            }
            // A socket that a process left behind.
            _ = try UnixSocket.listen(at: "\(directory)/socket", mode: 0o600)
            await #expect {
                try await VarlinkConnection.connect(to: .path("\(directory)/socket"))
            } throws: {
                ($0 as? VarlinkClientError)?.code == .noService
            }
        }
    }
}
