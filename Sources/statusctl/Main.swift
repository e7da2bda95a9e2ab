// SPDX-License-Identifier: Apache-2.0

import StatusCommands

/// The command-line tool.
@main
enum Main {
    static func main() { StatusCtl.start(Array(CommandLine.arguments.dropFirst())) }
}
