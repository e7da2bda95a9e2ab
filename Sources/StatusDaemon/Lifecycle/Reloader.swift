// SPDX-License-Identifier: Apache-2.0

import Logging
import StatusConfiguration
import StatusInterface
import Systemd

/// Reads the configuration again and has it followed, one reload after another.
@EventLoop
final class Reloader {
    private let reading: ConfigurationReading
    private let registry: ServerRegistry
    private let logger: Logger
    private let outcomes: LogLimiter
    private let failures: LogLimiter
    private var isRunning = false
    private var waiting: [CheckedContinuation<Void, Never>] = []
    /// Called with what was read, before a reload ends.
    var onReload: @EventLoop (LoadedConfiguration) -> Void = { _ in }

    init(reading: ConfigurationReading, registry: ServerRegistry, logger: Logger) {
        self.reading = reading
        self.registry = registry
        self.logger = logger
        outcomes = LogLimiter(logger, .info, burst: Self.reloadsLogged)
        failures = LogLimiter(logger, .error, burst: Self.reloadsLogged)
    }

    /// How many reloads in half a minute are logged each for itself: more are no person's.
    private static let reloadsLogged = 10

    /// Reloads, and returns what became another; or why nothing did.
    func reload() async -> Result<ReloadReply, Problem> {
        // Each caller's reload begins after its call, so that it sees what the caller has written.
        await begin()
        ServiceManager.notify(.reloading)
        defer {
            ServiceManager.notify(.ready)
            end()
        }
        switch await reading.read() {
        case .failure(let problem):
            // The daemon ends, or the client that asked has left.
            if Task.isCancelled { return .failure(problem) }
            failures.log("Configuration not reloaded: \(problem)", about: "reload", metadata: .of(.reloadFailed))
            return .failure(problem)
        case .success(let read):
            var reply = registry.apply(read)
            reply.warnings = read.problems.filter { $0.severity == .warning }.map(Failure.init)
            onReload(read.loaded)
            let isLogged = outcomes.log(
                "Configuration reloaded: \(reply.added.count) added, \(reply.changed.count) changed, \(reply.removed.count) removed\(reply.failed.isEmpty ? "" : ", \(reply.failed.count) wrong")",
                about: "reload", metadata: .of(.reloaded))
            if isLogged { for problem in read.problems { logger.log(problem) } }
            return .success(reply)
        }
    }

    private func begin() async {
        if isRunning { return await withCheckedContinuation { waiting.append($0) } }
        isRunning = true
    }

    /// Hands over to whoever has waited longest; nobody can come in between.
    private func end() {
        if waiting.isEmpty { isRunning = false } else { waiting.removeFirst().resume() }
    }
}
