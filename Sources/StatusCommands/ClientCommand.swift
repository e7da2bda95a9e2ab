// SPDX-License-Identifier: Apache-2.0

import Arguments
import EventLoopIO
import Glibc
import StatusInterface
import Varlink

/// Makes commands that call the daemon.
enum ClientCommand {
    /// The context in which a command runs.
    struct Context: Sendable {
        let client: MonitorClient
        /// The address of the client's connection.
        let address: UnixAddress
        /// The deadline that the user set; nil for none.
        let deadline: ContinuousClock.Instant?
        let terminal: Terminal
        let arguments: ParsedArguments
        fileprivate let hint: TimerSource?

        /// Writes what an administrator should know of the daemon, if it answers within a second; an old one does not say it.
        func warn() async { terminal.warn(try? await client.getCursor(within: .seconds(1)).notices) }

        /// The failure for a server that does not exist, with the name that the user may have meant.
        func noSuchServer(_ name: String, reason: String?) async -> CommandFailure {
            let suggestion = await ServerSuggestion.text(for: name, self)
            // Whoever has lost the state has lost servers.
            await warn()
            return CommandFailure(.noSuchServer(server: name, reason: reason), suggestion: suggestion)
        }

        /// The daemon has answered, or the user has set a deadline: from now on a long wait is normal, and there is no hint.
        func mayTakeItsTime() async { await hint?.cancel() }
    }

    /// The time for which a command is repeated after the daemon closed the connection.
    private static let restartTime = Duration.seconds(5)
    private static let pause = Duration.milliseconds(100)
    /// The seconds without an answer after which the user gets a hint.
    ///
    /// The service manager's socket accepts connections even if the daemon cannot start.
    private static let hintTime = 5

    /// Makes a command with ``Options/json`` and ``Options/address`` in addition to its own parameters.
    ///
    /// - Parameters:
    ///   - mayBeRepeated: whether it runs again if the daemon closes the connection without an answer, as it does when it restarts.
    ///   - isChange: whether the daemon may still carry out the request after the command has timed out.
    ///   - limit: how long the command may take, including the time to connect.
    static func make(
        _ name: String, abstract: String, discussion: String = "", parameters: [any Parameter] = [],
        mayBeRepeated: Bool = false, isChange: Bool = false,
        limit: @escaping @Sendable (ParsedArguments) -> Duration? = { _ in nil },
        validate: @escaping @Sendable (ParsedArguments) throws(InvalidUsage) -> Void = { _ in },
        run: @escaping @Sendable (Context) async throws -> ExitStatus
    ) -> Command<ExitStatus> {
        let discussion = discussion.isEmpty ? ExitStatus.table : discussion + "\n\n" + ExitStatus.table
        return Command(
            name, abstract: abstract, discussion: discussion, parameters: parameters + [Options.json, Options.address],
            validate: validate
        ) { arguments in
            let address = try arguments[Options.address] ?? standardAddress()
            let limit = limit(arguments)
            let deadline = limit.map { ContinuousClock.now + $0 }
            let hint = await hint(on: Terminal(arguments), address)
            defer { withExtendedLifetime(hint) {} }
            func runOnce(_ client: MonitorClient) async throws -> ExitStatus {
                let context = Context(
                    client: client, address: address, deadline: deadline, terminal: Terminal(arguments),
                    arguments: arguments, hint: hint)
                do {
                    return try await run(context)
                } catch MonitorError.noSuchServer(let name, let reason) {
                    throw await context.noSuchServer(name, reason: reason)
                } catch MonitorError.connection(let late) where isChange && late.code == .timedOut {
                    throw CommandFailure(of: late, address: address, note: "it may still carry out the request")
                }
            }
            do {
                let daemon = await DaemonReturn(to: address)
                var end: ContinuousClock.Instant?
                var client = try await connect(to: address, within: limit)
                while true {
                    do {
                        return try await runOnce(client)
                    } catch MonitorError.connection(let lost) where mayBeRepeated && lost.code == .closed {
                        let deadline = end ?? ContinuousClock.now + restartTime
                        end = deadline
                        // The same daemon may still be stopping.
                        try await EventLoop.sleep(for: pause)
                        let left = deadline - ContinuousClock.now
                        guard left > .zero, let next = try? await daemon.wait(within: left) else {
                            throw lost
                        }
                        client = next
                    }
                }
            } catch {
                throw CommandFailure(error, address: address)
            }
        }
    }

    /// A timer that writes the hint unless it is released first.
    @EventLoop
    private static func hint(on terminal: Terminal, _ address: UnixAddress) -> TimerSource? {
        let timer = try? TimerSource {
            terminal.note("no answer for \(hintTime) s, still waiting; see \(address.daemonLog)")
        }
        timer?.schedule(after: .seconds(hintTime))
        return timer
    }

    private static func connect(to address: UnixAddress, within limit: Duration?) async throws -> MonitorClient {
        guard let limit else { return try await MonitorClient.connect(to: address) }
        do throws(VarlinkClientError) {
            return try await MonitorClient.connect(to: address, timeout: limit)
        } catch {
            throw error.code == .timedOut ? CommandFailure.timedOut(address) : error
        }
    }

    /// A client of the daemon at `address`, or at the standard address.
    static func connect(address: UnixAddress?) async throws -> MonitorClient {
        try await MonitorClient.connect(to: try address ?? standardAddress())
    }

    private static func standardAddress() throws(IOError) -> UnixAddress {
        try MonitorAddress.standard(environment: ProcessEnvironment.current, isRoot: geteuid() == 0)
    }
}

extension Terminal {
    /// The terminal for the user's options.
    init(_ arguments: ParsedArguments) {
        self.init(isJSON: arguments[Options.json], environment: ProcessEnvironment.current)
    }
}
