// SPDX-License-Identifier: Apache-2.0

import StatusCommands

/// The command-line tool.
@main
enum Main {
    static func main() async {
        await StatusCtl.start(Array(CommandLine.arguments.dropFirst()))
    }
}
