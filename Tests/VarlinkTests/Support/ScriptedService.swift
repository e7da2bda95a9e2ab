// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

@testable import Varlink

/// A client whose service is the test itself.
func scripted(
    limits: ClientStateMachine.Limits = ClientStateMachine.Limits()
) async throws -> (VarlinkConnection, RawClient) {
    let (ours, theirs) = socketPair()
    return (try await VarlinkConnection(theirs, limits: limits), RawClient(adopting: ours))
}

/// Makes the service send the text.
func echo(_ connection: VarlinkConnection, _ text: String) async throws -> String? {
    let reply = try await connection.call(
        "org.example.test.Echo", { $0.member("text", text) }, returning: [String: String].self, timeout: nil)
    return reply["text"]
}
