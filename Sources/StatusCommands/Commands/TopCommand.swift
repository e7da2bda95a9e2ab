// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusSupport

enum TopCommand {
    static let command = ClientCommand.make(
        "top",
        abstract: "Show all servers on the whole terminal.",
        discussion:
            """
            It shows the last changes of one server beneath, or its details beside the list. The key ? shows all keys, \
            q ends it.
            """,
        writesJSON: false, severalHosts: true,
        beforeConnecting: { arguments in
            guard FullScreen.isPossible(environment: ProcessEnvironment.current) else {
                throw CommandFailure(
                    .usage, "Usage",
                    """
                    top needs a terminal that can move the cursor, and TERM that names it; run “statusctl list \
                    --watch”
                    """
                )
            }
            let addresses = try Options.daemons(arguments)
            guard addresses.count > 1 else { return nil }
            return try await TopProgram(addresses, Terminal(arguments)).run()
        }
    ) { context in
        await context.mayTakeItsTime()
        return try await TopProgram(context).run()
    }
}
