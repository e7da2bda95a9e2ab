// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusInterface
import StatusModel
import Suggestions

/// Suggests names of the daemon's servers.
enum ServerSuggestion {
    /// The timeout for the list of servers; a suggestion is not worth a long wait.
    private static let patience = Duration.seconds(1)

    /// `; did you mean “NAME”?`, or nothing if no name is near or the daemon does not answer.
    static func text(for name: String, at address: UnixAddress) async -> String {
        let names = await names { try await MonitorClient.connect(to: address, mayStart: false, timeout: patience) }
        return Nearest.suggestion(for: name, among: names)
    }

    /// The names of all servers; none if the daemon does not answer.
    static func names(_ connect: () async throws -> MonitorClient) async -> [String] {
        (try? await connect().list(within: patience).servers.map(\.name.rawValue)) ?? []
    }
}
