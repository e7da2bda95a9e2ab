// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import SystemdClient

/// Prints the states of a systemd unit until it is interrupted.
@main
struct Main {
    static func main() {
        let unit = CommandLine.arguments.dropFirst().first ?? "dbus.service"
        SignalSource.block([SIGINT])
        EventLoop.runProcess { await follow(unit) }
    }

    @EventLoop
    private static func follow(_ unit: String) async -> Int32 {
        let following = Task {
            for await state in UnitStates(unit) {
                switch state {
                case .properties(let unit): show("\(unit.loadState), \(unit.activeState) (\(unit.subState))")
                case .unreachable(let reason): show("unknown: \(reason)")
                case .unanswered: break
                }
            }
        }
        do throws(IOError) {
            let interrupt = try SignalSource(SIGINT) { _ in following.cancel() }
            await following.value
            interrupt.cancel()
            return 0
        } catch {
            StandardOutput.write("\(error)\n", to: STDERR_FILENO)
            return 1
        }
    }

    private static func show(_ line: String) { StandardOutput.write(line + "\n", to: STDOUT_FILENO) }
}
