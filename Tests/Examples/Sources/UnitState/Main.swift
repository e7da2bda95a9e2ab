// SPDX-License-Identifier: Apache-2.0

import Glibc
import SystemdClient

/// Prints the states of a systemd unit until it is interrupted.
@main
struct Main {
    static func main() async {
        for await state in UnitStates(CommandLine.arguments.dropFirst().first ?? "dbus") {
            switch state {
            case .properties(let unit): show("\(unit.loadState), \(unit.activeState) (\(unit.subState))")
            case .unreachable(let reason): show("unknown: \(reason)")
            case .unanswered: break
            }
        }
    }

    /// Shows a line at once, which print(_:) does not do if standard output is a pipe.
    private static func show(_ line: String) { _ = write(STDOUT_FILENO, line + "\n", line.utf8.count + 1) }
}
