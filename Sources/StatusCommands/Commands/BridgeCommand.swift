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
        let socket: OwnedDescriptor
        do throws(IOError) {
            socket = try await UnixSocket.connect(
                to: MonitorAddress.socket(of: place, mayStart: !arguments[noStart]), timeout: .seconds(5))
        } catch {
            throw CommandFailure(VarlinkClientError(error), address: address)
        }
        let endsWithInput = arguments[endWithInput]
        let failure = await BlockingThread.run { forward(socket.rawValue, endsWithInput) }
        withExtendedLifetime(socket) {}
        guard let failure else { return .done }
        throw CommandFailure(.failed, "Failed", "cannot forward data: \(failure.message)")
    }

    /// Forwards calls and replies until the daemon or the reader of the replies disconnects.
    private static func forward(_ socket: Int32, _ endsWithInput: Bool) -> IOError? {
        BlockingThread.start {
            _ = copy(from: STDIN_FILENO, to: socket)
            if endsWithInput { _exit(ExitStatus.done.rawValue) }
            // The daemon closes the connection when it has answered all calls.
            shutdown(socket, Int32(SHUT_WR))
        }
        return copy(from: socket, to: STDOUT_FILENO)
    }

    /// Copies bytes until the source ends or the reader of the target disconnects; returns why it failed, if it did.
    private static func copy(from source: Int32, to target: Int32) -> IOError? {
        var bytes = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            var polled = [source, target].map { pollfd(fd: $0, events: 0, revents: 0) }
            polled[0].events = Int16(POLLIN)
            if poll(&polled, 2, -1) < 0 { continue }
            if polled[1].revents != 0 { return nil }
            let count = read(source, &bytes, bytes.count)
            if count == 0 || count < 0 && errno == ECONNRESET { return nil }
            if count < 0, errno == EAGAIN || errno == EINTR { continue }
            if count < 0 { return IOError(errno: errno, "cannot read") }
            let failure = StandardOutput.write(bytes[..<count], to: target)
            if failure == EPIPE || failure == ECONNRESET { return nil }
            if failure != 0 { return IOError(errno: failure, "cannot write") }
        }
    }
}
