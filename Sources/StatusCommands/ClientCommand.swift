// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import StatusInterface
import StatusModel
import StatusSupport
import Varlink

/// Makes commands that call the daemon.
enum ClientCommand {
    struct Context: Sendable {
        let client: MonitorClient
        /// The address of the client's connection.
        let address: DaemonAddress
        /// The deadline that the user set; nil for none.
        let deadline: ContinuousClock.Instant?
        let terminal: Terminal
        let arguments: ParsedArguments
        fileprivate let hint: TimerSource?

        /// Writes the daemon's warnings for administrators, if it answers within a second.
        func warn() async { terminal.warn(await notices()) }

        /// What the daemon says about itself to administrators, if it answers within a second.
        func notices() async -> [String] { (try? await client.getCursor(within: .seconds(1)).notices) ?? [] }

        /// The failure for a server that does not exist, with the name that the user may have meant.
        func noSuchServer(_ name: String, reason: String?) async -> CommandFailure {
            let suggestion = await suggestion(for: name)
            // A daemon that has lost its state has lost servers.
            await warn()
            return CommandFailure(.noSuchServer(server: name, reason: reason), suggestion: suggestion)
        }

        /// `; did you mean “NAME”?`, or nothing if no server's name is near, or the output is JSON.
        func suggestion(for name: String) async -> String {
            terminal.isJSON
                ? "" : Nearest.suggestion(for: name, among: await client.serversIfItAnswers().map(\.name.rawValue))
        }

        /// Cancels the hint: the daemon has answered, or the user has set a deadline, so a long wait is normal.
        func mayTakeItsTime() async { await hint?.cancel() }
    }

    /// The seconds without an answer after which the user gets a hint.
    ///
    /// The service manager's socket accepts connections even if the daemon cannot start.
    private static let hintTime = 5

    /// Makes a command that has options for the daemon, and `--json`, in addition to its own parameters.
    ///
    /// - Parameters:
    ///   - statuses: its exit statuses, in addition to those of every command that calls the daemon.
    ///   - writesJSON: whether it has `--json`.
    ///   - mayBeRepeated: whether it runs again if the daemon closes the connection without an answer, as it does when
    ///     it restarts.
    ///   - isChange: whether the daemon may still carry out the request after the command has timed out.
    ///   - showsNotices: whether a change shows what the daemon says of itself to administrators.
    ///   - severalHosts: whether the user may choose more than one host.
    ///   - limit: how long the command may take, including the time to connect.
    ///   - beforeConnecting: runs the command without a connection to a daemon, or returns nil.
    static func make(
        _ name: String, abstract: String, discussion: String = "", parameters: [any AnyParameter] = [],
        statuses: Set<ExitStatus> = [], writesJSON: Bool = true,
        mayBeRepeated: Bool = false, isChange: Bool = false, showsNotices: Bool = true, severalHosts: Bool = false,
        limit: @escaping @Sendable (ParsedArguments) -> Duration? = { _ in nil },
        beforeConnecting: @escaping @Sendable (ParsedArguments) async throws -> ExitStatus? = { _ in nil },
        validate: @escaping @Sendable (ParsedArguments) throws(InvalidUsage) -> Void = { _ in },
        run: @escaping @Sendable (Context) async throws -> ExitStatus
    ) -> Command<ExitStatus> {
        let table = ExitStatus.table(statuses.union([.noDaemon]))
        let standardParameters: [any AnyParameter] =
            (writesJSON ? [Options.json] : []) + [Options.address, severalHosts ? Options.hosts : Options.host]
        return Command(
            name, abstract: abstract, discussion: discussion.isEmpty ? table : discussion + "\n\n" + table,
            parameters: parameters + standardParameters,
            validate: { arguments throws(InvalidUsage) in
                try Options.checkDaemon(arguments, severalHosts: severalHosts)
                try validate(arguments)
            }
        ) { arguments in
            if let status = try await beforeConnecting(arguments) { return status }
            let address = try Options.daemon(arguments)
            let limit = limit(arguments)
            let deadline = limit.map { ContinuousClock.now + $0 }
            let hint = await hint(on: Terminal(arguments), address)
            defer { withExtendedLifetime(hint) {} }
            let session = Session(to: address, mayBeRepeated && address.mayRestart ? .restart : .none)
            do {
                return try await session.run(within: limit) { client in
                    let context = Context(
                        client: client, address: address, deadline: deadline, terminal: Terminal(arguments),
                        arguments: arguments, hint: hint)
                    do {
                        let status = try await run(context)
                        // Who makes changes is an administrator.
                        if isChange, showsNotices { await context.warn() }
                        return status
                    } catch MonitorError.noSuchServer(let name, let reason) {
                        throw await context.noSuchServer(name, reason: reason)
                    } catch MonitorError.connection(let late) where isChange && late.code == .timedOut {
                        throw CommandFailure(of: late, address: address, note: "it may still carry out the request")
                    }
                }
            } catch MonitorError.connection(let late) where limit != nil && late.code == .timedOut {
                throw CommandFailure.timedOut(address)
            } catch {
                throw CommandFailure(error, address: address)
            }
        }
    }

    /// A timer that writes the hint unless it is released first.
    @EventLoop
    private static func hint(on terminal: Terminal, _ address: DaemonAddress) -> TimerSource? {
        // The user may be asked for a password.
        if address.isRemote { return nil }
        let timer = try? TimerSource {
            ProgressIndicator.interruptAny {
                terminal.note("no answer for \(hintTime) s, still waiting; see \(address.log)")
            }
        }
        timer?.schedule(after: .seconds(hintTime))
        return timer
    }
}

extension Terminal {
    /// The terminal for the user's options.
    init(_ arguments: ParsedArguments) {
        self.init(isJSON: arguments[Options.json], environment: ProcessEnvironment.current)
    }
}

extension MonitorClient {
    /// All servers for suggestions and completion, which are not worth a long wait; none if the daemon does not answer.
    func serversIfItAnswers() async -> [ServerState] { (try? await list(within: .seconds(2)).servers) ?? [] }
}
