// SPDX-License-Identifier: Apache-2.0

import StatusInterface
import StatusModel
import StatusSupport
import Varlink

enum WaitCommand {
    private static let name = Options.serverName()
    private static let level = Options.level(
        help: "The level to wait for: ok, warning, critical or unknown (default: ok, unless --text is given).")
    private static let text = Option<String?>(
        "text", value: "TEXT", help: "The whole text to wait for; with --level, whichever comes first.", default: nil
    ) { text throws(InvalidValue) in
        do throws(InvalidStatus) { _ = try StatusText(text) } catch { throw InvalidValue("\(error)") }
        return text
    }
    private static let timeout = Option<Duration?>(
        "timeout", value: "TIME", help: "How long to wait, such as 30s or 5min (default: no limit).", default: nil
    ) { text throws(InvalidValue) in
        guard let duration = TimeSpan.parse(text) else { throw InvalidValue("must be a time such as 30s or 5min") }
        return duration
    }
    /// The minimum time for the daemon's answers, which suffices for a healthy one: `--timeout 0` asks once.
    private static let answerTime = Duration.seconds(1)

    static let command = ClientCommand.make(
        "wait", abstract: "Wait until a server has a level or a text.",
        discussion:
            """
            The server need not exist yet. A status that is stale, or from before a failed load, does not count. The \
            command continues to wait while the daemon restarts.
            """,
        parameters: [name, level, text, timeout], statuses: [.timedOut],
        limit: { $0[timeout].map { max($0, answerTime) } }
    ) { context in
        let arguments = context.arguments
        let level = arguments[level] ?? (arguments[text] == nil ? .ok : nil)
        let state: ServerState
        do {
            state = try await wait(context, for: arguments[name], level: level, text: arguments[text])
        } catch MonitorError.waitTimedOut(nil) {
            let name = arguments[name].rawValue
            var failure = CommandFailure(MonitorError.waitTimedOut(server: nil))
            failure.sentence =
                "timed out: no server named “\(name)” yet" + (await context.suggestion(for: name))
            throw failure
        }
        if context.terminal.isJSON { context.terminal.json(state) }
        return .done
    }

    /// Waits for the server within the deadline, even if the daemon restarts.
    private static func wait(
        _ context: ClientCommand.Context, for server: ServerName, level: Level?, text: String?
    ) async throws -> ServerState {
        let (deadline, address) = (context.deadline, context.address)
        let extra = context.arguments[timeout].map { max(.zero, answerTime - $0) } ?? .zero
        let session = Session(
            to: address, deadline.map { .until($0) } ?? .unlimited, continuing: context.client)
        // States during a restart of the daemon count, too.
        var begin: Cursor?
        do {
            return try await session.run { notice in
                if case .stillAway = notice { context.terminal.note(address.absenceAdvice) }
            } _: { client in
                do {
                    let limit = deadline.map { max(.zero, $0 - .now) } ?? VarlinkConnection.replyTimeout
                    if begin == nil {
                        begin = try await client.getCursor(within: limit).cursor
                    } else {
                        try await client.checkAnswers(within: limit)
                    }
                    try await session.hasAnswered()
                    await context.mayTakeItsTime()
                    let left = deadline.map { max(.zero, $0 - .now - extra) }
                    return try await client.wait(server: server, level: level, text: text, timeout: left, since: begin)
                } catch MonitorError.connection(let late) where deadline == nil && late.code == .timedOut {
                    // Not a lost connection: the daemon must answer.
                    throw CommandFailure(of: late, address: address)
                }
            }
        } catch MonitorError.connection where deadline.map({ $0 <= .now }) ?? false {
            throw CommandFailure.timedOut(address)
        }
    }
}
