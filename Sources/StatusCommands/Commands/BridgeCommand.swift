// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import StatusInterface
import StatusSupport
import Varlink

/// The command `statusctl bridge`, which `statusctl --host` runs on the other host.
enum BridgeCommand {
    private static let endWithInput = Flag(
        "end-with-input", help: "End as soon as the standard input ends, without waiting for replies.")

    private static let noStart = Flag("no-start", help: "Do not start the daemon.")

    static let command = Command<ExitStatus>(
        "bridge", abstract: "Connect standard input and output to the daemon.",
        discussion:
            """
            It is for other programs. “statusctl --host” runs it on the other host, as systemctl runs \
            systemd-stdio-bridge.\n\n
            """
                + ExitStatus.table([.noDaemon]),
        parameters: [endWithInput, noStart, Options.json, Options.address],
        validate: { arguments throws(InvalidUsage) in
            guard let address = arguments[Options.address] else { return }
            guard case .unix = address else { throw InvalidUsage("--address must be the path of a socket") }
        }, run: run)

    private static func run(_ arguments: ParsedArguments) async throws -> ExitStatus {
        let address = try Options.daemon(arguments)
        guard case .local(.unix(let place, _)) = address else {
            throw CommandFailure(.usage, "Usage", "$STATUSD_ADDRESS must be the path of a socket")
        }
        do throws(VarlinkClientError) {
            let socket = try await MonitorClient.socket(at: place, mayStart: !arguments[noStart])
            let bridge = Bridge(socket: socket.rawValue, endsWithInput: arguments[endWithInput])
            let failure = await BlockingThread.run { bridge.run() }
            withExtendedLifetime(socket) {}
            guard let failure else { return .done }
            return failed(failure, arguments)
        } catch {
            throw CommandFailure(error, address: address)
        }
    }

    private static func failed(_ failure: IOError, _ arguments: ParsedArguments) -> ExitStatus {
        Terminal(arguments).failure(CommandFailure(.failed, "Failed", "cannot forward data: \(failure.message)"))
        return .failed
    }
}
