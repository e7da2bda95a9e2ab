// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import SourceKinds
import StatusConfiguration
import StatusModel
import StatusSources
import StatusWorkers

/// Reads the configuration on a separate thread, because a disk or a user database may block.
@EventLoop
final class ReadingThread {
    private let location: ConfigurationLocation
    private let timeout: Duration
    /// Whether plugins run in the executor's service.
    private let hasExecutor: Bool
    /// Whether a thread is still reading, perhaps after its timeout.
    private var isReading = false
    /// The result of the last reading.
    private var former: ReadConfiguration?
    /// Called when the thread has ended.
    private var onEnd: [@Sendable () -> Void] = []

    /// Why a reading failed: the configuration, or the system if a file or a user database does not answer.
    struct Failure: Error {
        let code: DaemonError.Code
        let problem: Problem
    }

    /// Creates a reader of the files at `location`; each reading has this timeout.
    init(location: ConfigurationLocation, hasExecutor: Bool = false, timeout: Duration = .seconds(10)) {
        self.location = location
        self.hasExecutor = hasExecutor
        self.timeout = timeout
    }

    /// The command that explains errors in the configuration.
    var verification: String {
        if case .file(let path) = location { "statusctl verify \(path)" } else { "statusctl verify" }
    }

    /// Reads all files; fails if the main file is invalid, or on a timeout.
    ///
    /// - Parameter isTrial: whether the result will not take effect, so the next reading does not build on it.
    func read(isTrial: Bool = false) async -> Result<ReadConfiguration, Failure> {
        guard await isFree() else {
            return .failure(
                unanswered("an earlier attempt still waits; check which file or user database does not answer"))
        }
        isReading = true
        let result = await BlockingThread.run(within: timeout) { [location, hasExecutor, former] in
            defer { EventLoop.perform { self.readingEnded() } }
            return Self.read(location, hasExecutor, after: former)
        }
        if case .success(let read) = result, !isTrial { former = read }
        return result
            ?? .failure(
                unanswered("timed out after \(timeout.text); check which file or user database does not answer"))
    }

    /// Waits until no thread is reading; returns false on a timeout.
    private func isFree() async -> Bool {
        guard isReading else { return true }
        return await TimedWait<Void>.run(within: timeout) { end in onEnd.append { end(()) } } != nil
    }

    private func readingEnded() {
        isReading = false
        for end in onEnd { end() }
        onEnd = []
    }

    private nonisolated static func read(
        _ location: ConfigurationLocation, _ hasExecutor: Bool, after former: ReadConfiguration?
    ) -> Result<ReadConfiguration, Failure> {
        do throws(Problem) {
            var loaded = try ConfigurationLoader(location: location).load(after: former?.files ?? UsableFiles())
            if hasExecutor { loaded.warnOfHiddenArguments() }
            let accounts = Accounts(
                of: loaded.configuration.servers.values.compactMap(\.source),
                followsHosts: loaded.configuration.mqtt?.follow.isEmpty == false,
                before: former?.accounts ?? Accounts())
            return .success(ReadConfiguration(loaded, accounts, warnings: lacks(loaded.configuration)))
        } catch {
            return .failure(Failure(code: .configuration, problem: error))
        }
    }

    /// Warns if HTTP requests or checks of certificates are configured but cannot be made, for example because libcurl
    /// is missing.
    private nonisolated static func lacks(_ configuration: Configuration) -> [Problem] {
        let servers = configuration.servers.filter {
            $0.value.source?.base.requirements.contains(HTTPSettings.libcurl) == true
        }
        guard let first = servers.min(by: { $0.key < $1.key }),
            let reason = WorkerStart.refusal(of: .httpWorker)
        else { return [] }
        let names = servers.count == 1 ? "\(first.key)" : "\(first.key) and \(servers.count - 1) more"
        return [
            Problem(
                .warning, at: first.value.origin,
                reason: "\(names) cannot be checked: \(VisibleText.escape(reason))")
        ]
    }

    private func unanswered(_ reason: String) -> Failure {
        let place =
            switch location {
            case .file(let path): path
            case .directories(let directories): directories.first ?? "configuration"
            }
        return Failure(code: .system, problem: Problem(.error, at: Origin(file: place), reason: reason))
    }
}
