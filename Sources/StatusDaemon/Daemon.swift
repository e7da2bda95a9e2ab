// SPDX-License-Identifier: Apache-2.0

import CLinux
import EventLoopIO
import Glibc
import Logging
import StatusConfiguration
import SystemdClient

/// The daemon, which makes its parts and runs them.
struct Daemon: Sendable {
    private let location: ConfigurationLocation
    private let environment: [String: String]
    private let state: StateLocation
    private let logger: Logger

    /// Creates a daemon that is not running.
    ///
    /// - Parameter configuration: the file or directory on the command line; nil for the standard locations.
    init(
        configuration: String?, state: StateLocation = .standard, environment: [String: String], logLevel: Logger.Level
    ) {
        location =
            configuration.map { ConfigurationLocation(path: $0) }
            ?? .standard(environment: environment, isRoot: geteuid() == 0)
        self.environment = environment
        self.state = state
        logger = Logger(label: "statusd") { label in
            Journal.makeLogHandler(label: label, identifier: "statusd", names: Logger.fieldNames, level: logLevel)
        }
    }

    /// Prepares the process before any thread exists: blocks the signals that the daemon handles.
    static func prepare() {
        // Returns the memory of large buffers to the system as soon as they are freed. By default the threshold grows
        // with the allocations, and small blocks between freed buffers keep the heap large.
        mallopt(M_MMAP_THRESHOLD, 32 * 1024)
        SignalSource.block(SignalHandling.signals)
        // The reader of standard error may exit. (Under systemd, SIGPIPE is ignored anyway.)
        signal(SIGPIPE, SIG_IGN)
        // A file that must not grow any more (setrlimit(2)) is an error like a full disk.
        signal(SIGXFSZ, SIG_IGN)
    }

    /// Runs on the main thread until SIGTERM or SIGINT, and ends the process with its exit status.
    func runAndExit() -> Never { EventLoop.runProcess { await run() } }

    /// Reports to waiting clients why the daemon does not start.
    static func tellClients(ofFailedStart reason: String) async {
        _ = try? await endingAtSignals { await FailedStart.answerClients(reason) }
    }

    /// Runs until SIGTERM or SIGINT; returns the exit status.
    ///
    /// Errors have been logged.
    private func run() async -> Int32 {
        Journal.reportLosses { [logger] count in
            logger.log(
                .messagesLost, level: .warning, "\(count) older messages were lost because the log was not read",
                metadata: ["lost": "\(count)"])
        }
        return await statusOfRun()
    }

    private func statusOfRun() async -> Int32 {
        let reading = await ReadingThread(location: location, hasExecutor: environment["STATUSD_EXECUTOR"] != nil)
        while true {
            do {
                try await start(reading)
                return 0
            } catch {
                let failure = Self.failure(error)
                let problem = (error as? ReadingThread.Failure)?.problem
                logger.log(.startFailed, level: .error, "\(failure)", metadata: problem.map { .place(of: $0) } ?? [:])
                guard await answerClients(failure, reading) else { return failure.code.exitStatus }
            }
        }
    }

    /// Reports a failed start to clients; returns whether the cause has been corrected meanwhile.
    private func answerClients(_ failure: DaemonError, _ reading: ReadingThread) async -> Bool {
        let answered = try? await Self.endingAtSignals {
            guard failure.code == .configuration else { return await FailedStart.answerClients("\(failure)") }
            return await FailedStart.answerClients("\(failure)") { (try? await reading.read().get()) != nil }
        }
        return answered ?? false
    }

    private static func failure(_ error: any Error) -> DaemonError {
        switch error {
        case let error as DaemonError: error
        case let error as ReadingThread.Failure: DaemonError(error.code, "\(error.problem)")
        default: DaemonError(.system, "\(error)")
        }
    }

    private func start(_ reading: ReadingThread) async throws {
        try raiseDescriptorLimit()
        let read = try await Self.endingAtSignals { await reading.read() }.get()
        for problem in read.errors + read.warnings { logger.log(problem) }
        let directories = try DaemonDirectories(environment: environment, isRoot: geteuid() == 0)
        let lock = try directories.claim()
        defer { withExtendedLifetime(lock) {} }
        try await makeParts(read, reading, directories).run()
    }

    /// Makes the parts, which continue with the state of an earlier run; the opened state is released afterwards.
    private func makeParts(
        _ read: ReadConfiguration, _ reading: ReadingThread, _ directories: DaemonDirectories
    ) async throws -> DaemonParts {
        let opened = try await Self.endingAtSignals { [state, environment] in
            await OpenedState.open(state, environment: environment)
        }
        return try await DaemonParts.make(
            read, reading: reading, directories: directories, state: opened, logger: logger)
    }

    /// Runs a slow step of the start, during which SIGTERM and SIGINT end the process at once.
    @EventLoop
    private static func endingAtSignals<Result: Sendable>(
        _ body: @EventLoop @Sendable () async -> Result
    ) async throws -> Result {
        let sources = try SignalHandling.terminating.map { try SignalSource($0) { _ in exit(0) } }
        defer { for source in sources { source.cancel() } }
        return await body()
    }

    /// Raises the limit of descriptors to the maximum: each client and each notify socket needs one.
    private func raiseDescriptorLimit() throws(DaemonError) {
        OwnedDescriptor.raiseLimit()
        guard OwnedDescriptor.limit >= Self.fewestDescriptors else {
            throw DaemonError(
                .system,
                """
                the limit of open files is \(OwnedDescriptor.limit), but at least \(Self.fewestDescriptors) are \
                required; raise LimitNOFILE= of the service, or “ulimit -n”
                """
            )
        }
    }

    /// The minimum number of descriptors; with fewer, none is left for a client or a check.
    private static let fewestDescriptors = 128
}
