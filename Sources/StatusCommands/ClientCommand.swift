// SPDX-License-Identifier: Apache-2.0

import Arguments
import Glibc
import StatusInterface
import Systemd
import Varlink

/// Makes commands that ask the daemon.
enum ClientCommand {
    /// What such a command works with.
    struct Context: Sendable {
        let client: MonitorClient
        /// Where the client is connected to.
        let address: UnixAddress
        let terminal: Terminal
        let arguments: ParsedArguments
    }

    /// How long a command that only reads waits for a daemon that was stopping when the command connected.
    private static let restartTime = Duration.seconds(5)

    /// A command with ``Options/json`` and ``Options/address`` beside its own parameters.
    ///
    /// If it only reads and the daemon closes the connection without an answer, which happens if it is being restarted, the command runs again.
    static func make(
        _ name: String, abstract: String, discussion: String = "", parameters: [any Parameter] = [],
        onlyReads: Bool = false,
        validate: @escaping @Sendable (ParsedArguments) throws(InvalidUsage) -> Void = { _ in },
        run: @escaping @Sendable (Context) async throws -> ExitStatus
    ) -> Command<ExitStatus> {
        let discussion = discussion.isEmpty ? ExitStatus.table : discussion + "\n\n" + ExitStatus.table
        return Command(
            name, abstract: abstract, discussion: discussion, parameters: parameters + [Options.json, Options.address],
            validate: validate
        ) { arguments in
            let address = try arguments[Options.address] ?? standardAddress()
            func runOnce(_ client: MonitorClient) async throws -> ExitStatus {
                try await run(
                    Context(client: client, address: address, terminal: Terminal(arguments), arguments: arguments))
            }
            do {
                do {
                    return try await runOnce(try await MonitorClient.connect(to: address))
                } catch let lost as VarlinkClientError where onlyReads && lost.code == .closed {
                    guard let client = try? await DaemonReturn(to: address).wait(within: restartTime) else {
                        throw lost
                    }
                    return try await runOnce(client)
                }
            } catch {
                throw CommandFailure(error, address: address)
            }
        }
    }

    /// A client of the daemon at an address, or at the usual place.
    static func connect(address: UnixAddress?) async throws -> MonitorClient {
        try await MonitorClient.connect(to: try address ?? standardAddress())
    }

    private static func standardAddress() throws(SystemdError) -> UnixAddress {
        try MonitorAddress.standard(environment: ProcessEnvironment.current, isRoot: geteuid() == 0)
    }
}

extension Terminal {
    /// The terminal for what users asked for.
    init(_ arguments: ParsedArguments) {
        self.init(isJSON: arguments[Options.json], environment: ProcessEnvironment.current)
    }
}
