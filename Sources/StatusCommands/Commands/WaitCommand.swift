// SPDX-License-Identifier: Apache-2.0

import Arguments
import StatusInterface
import StatusModel

/// The command `statusctl wait`.
enum WaitCommand {
    private static let name = Options.serverName()
    private static let level = Options.level(
        help: "The level to wait for: ok, warning, critical or unknown (default: ok, unless there is a text).",
        default: Level?.none
    ) { $0 }
    private static let text = Option<String?>(
        "text", value: "TEXT", help: "The text to wait for; with a level, whichever comes first.", default: nil
    ) { text throws(InvalidValue) in
        do throws(InvalidStatus) { _ = try StatusText(text) } catch { throw InvalidValue("\(error)") }
        return text
    }
    private static let timeout = Option<Duration?>(
        "timeout", value: "TIME", help: "How long to wait, such as 30s or 5min (default: for ever).", default: nil
    ) { text throws(InvalidValue) in
        guard let duration = TimeSpan.parse(text) else { throw InvalidValue("must be a time such as 30s or 5min") }
        return duration
    }

    static let command = ClientCommand.make(
        "wait", abstract: "Wait until a server is ok, or has another level or a text.",
        discussion:
            "The server need not exist yet. What is stale, or loaded before a load failed, does not count.",
        parameters: [name, level, text, timeout]
    ) { context in
        let arguments = context.arguments
        let level = arguments[level] ?? (arguments[text] == nil ? .ok : nil)
        let state = try await context.client.wait(
            WaitParameters(
                server: arguments[name], level: level, text: arguments[text], timeout: arguments[timeout]))
        if context.terminal.isJSON { context.terminal.json(state) }
        return .done
    }
}
