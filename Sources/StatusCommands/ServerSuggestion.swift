// SPDX-License-Identifier: Apache-2.0

import StatusInterface
import StatusModel
import Suggestions

/// Suggests names of the daemon's servers.
enum ServerSuggestion {
    /// The timeout for the list of servers; a suggestion is not worth a long wait.
    private static let patience = Duration.seconds(1)

    /// `; did you mean “NAME”?`, or nothing if no name is near, the daemon does not answer, or the output is JSON.
    static func text(for name: String, _ context: ClientCommand.Context) async -> String {
        context.terminal.isJSON
            ? "" : Nearest.suggestion(for: name, among: await servers(context.client).map(\.name.rawValue))
    }

    /// All servers; none if the daemon does not answer.
    static func servers(_ client: MonitorClient?) async -> [ServerState] {
        (try? await client?.list(within: patience).servers) ?? []
    }
}
