// SPDX-License-Identifier: Apache-2.0

import Arguments
import StatusInterface
import StatusModel
import Varlink

/// The command `statusctl status`.
enum StatusCommand {
    static let command = ClientCommand.make(
        "status", abstract: "Show servers; without a name, the selected one.",
        discussion: "With several names, the exit status is that of the first server that is not ok.",
        parameters: [Options.servers, Options.format], mayBeRepeated: true, validate: Options.checkFormat
    ) { context in
        let names = context.arguments[Options.servers]
        var replies: [Result<DescribeReply, CommandFailure>] = []
        // All are asked for before the first is written, because a command may be repeated if the daemon restarts.
        for name in names.isEmpty ? [nil] : names.map(Optional.some) {
            replies.append(try await describe(name, context, isOneOfSeveral: names.count > 1))
        }
        let statuses = replies.enumerated().map { number, reply in
            if number > 0, !context.terminal.isJSON, context.arguments[Options.format] == nil {
                context.terminal.line("")
            }
            return write(reply, context)
        }
        context.terminal.warn(replies.lazy.compactMap { try? $0.get().notices }.first)
        return statuses.first { $0 != .done } ?? .done
    }

    /// Asks for a server.
    ///
    /// If it is one of several, it need not exist.
    private static func describe(
        _ name: String?, _ context: ClientCommand.Context, isOneOfSeveral: Bool
    ) async throws -> Result<DescribeReply, CommandFailure> {
        do throws(MonitorError) {
            return .success(try await context.client.describe(server: name))
        } catch .noSuchServer(let name, let reason) where isOneOfSeveral {
            return .failure(await context.noSuchServer(name, reason: reason))
        } catch .nothingSelected {
            // Whoever has lost the state has lost the selection.
            await context.warn()
            throw MonitorError.nothingSelected
        }
    }

    private static func write(
        _ reply: Result<DescribeReply, CommandFailure>, _ context: ClientCommand.Context
    ) -> ExitStatus {
        let terminal = context.terminal
        switch reply {
        case .failure(let failure):
            terminal.failure(failure)
            return failure.status
        case .success(let reply):
            let server = reply.server
            if terminal.isJSON {
                terminal.json(server)
            } else if let format = context.arguments[Options.format] {
                terminal.line(format.text(server))
            } else {
                for line in ServerText.details(server, style: terminal.style, width: terminal.width) {
                    terminal.line(line)
                }
            }
            return server.isHealthy ? .done : .notOK
        }
    }
}
