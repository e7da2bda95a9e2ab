// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StatusCommands

@Suite("Options") struct OptionsTests {
    @Test(
        "options that all commands have may stand before the command",
        arguments: [
            (["--json", "list"], ["list", "--json"]),
            (
                ["--address", "unix:/x", "--json", "post", "db", "--", "-x"],
                ["post", "--address", "unix:/x", "--json", "db", "--", "-x"]
            ),
            (["--address=unix:/x", "list", "--json"], ["list", "--address=unix:/x", "--json"]),
            (["post", "--json", "db"], ["post", "--json", "db"]),
            (["--help"], ["--help"]),
            (["--address"], ["--address"]),
            ([], []),
        ])
    func order(given: [String], read: [String]) {
        #expect(Options.behindCommand(given) == read)
    }
}
