// SPDX-License-Identifier: Apache-2.0

import Logging
import NotificationStreams
import StatusConfiguration
import StatusInterface
import StatusModel
import StatusMonitor
import StatusSources
import Systemd

/// The servers that are followed, and the sources that run for them: makes the monitor follow a configuration.
@EventLoop
final class ServerRegistry {
    private let monitor: StatusMonitor
    private let factory: SourceFactory
    private let logger: Logger
    private let push: PushSource
    private(set) var configuration = Configuration()
    private var sources: [ServerName: any Source] = [:]
    /// Servers that nobody configured, but that somebody posted to.
    private var guests: Set<ServerName> = []
    private var hasSelected = false

    init(monitor: StatusMonitor, factory: SourceFactory, logger: Logger) {
        self.monitor = monitor
        self.factory = factory
        self.logger = logger
        push = PushSource(monitor: monitor)
    }

    // MARK: Configuration

    /// Follows a new configuration.
    ///
    /// Servers whose configuration is the same are not touched.
    func apply(_ loaded: LoadedConfiguration) -> ReloadReply {
        var new = loaded.configuration
        keepServers(ofFailed: loaded, in: &new)
        factory.prepare(new.limits)
        let old = configuration.servers
        configuration = new
        var reply = ReloadReply(failed: loaded.errors.map(Failure.init))
        for name in old.keys.sorted() where new.servers[name] == nil {
            remove(name)
            reply.removed.append(name.rawValue)
        }
        for (name, server) in new.servers.sorted(by: { $0.key < $1.key }) {
            if let before = old[name] {
                guard before.isSame(as: server) == false else { continue }
                change(name, to: server)
                reply.changed.append(name.rawValue)
            } else if guests.remove(name) != nil {
                change(name, to: server)
                reply.changed.append(name.rawValue)
            } else {
                add(name, server)
                reply.added.append(name.rawValue)
            }
        }
        selectFirst()
        return reply
    }

    /// A drop-in that cannot be read any more disables its servers and nothing else: they stay, failed.
    private func keepServers(ofFailed loaded: LoadedConfiguration, in new: inout Configuration) {
        for problem in loaded.errors where loaded.failedFiles.contains(problem.origin.file) {
            for (name, server) in configuration.servers
            where server.origin.file == problem.origin.file && new.servers[name] == nil {
                var failed = server
                failed.failure = "\(problem)"
                new.servers[name] = failed
            }
        }
    }

    /// Selects as configured, once there is such a server: where whoever posts is accepted, it may come later.
    private func selectFirst() {
        guard !hasSelected, let name = configuration.select else { return }
        hasSelected = (try? monitor.select(name)) != nil
    }

    /// A user has selected: the configuration's choice counts no more.
    func didSelect() { hasSelected = true }

    private func add(_ name: ServerName, _ server: ServerConfiguration) {
        let failure = server.failure ?? startSource(of: name, server)
        monitor.add(server.definition(name: name, failure: failure))
    }

    private func change(_ name: ServerName, to server: ServerConfiguration) {
        sources.removeValue(forKey: name)?.close()
        let failure = server.failure ?? startSource(of: name, server)
        try? monitor.redefine(server.definition(name: name, failure: failure))
    }

    private func remove(_ name: ServerName) {
        sources.removeValue(forKey: name)?.close()
        try? monitor.remove(name)
    }

    // MARK: Sources

    /// Starts what a source needs; returns why that is not possible.
    private func startSource(of name: ServerName, _ server: ServerConfiguration) -> String? {
        do throws(SourceProblem) {
            sources[name] = try factory.start(server, of: name)
            return nil
        } catch {
            return error.description
        }
    }

    /// Whether there is something to load a server's status by.
    func isRefreshable(_ name: ServerName) -> Bool { sources[name]?.refreshAction != nil }

    /// Loads a server's status; where a reload puts another source in the place of the one that loads, by that one.
    ///
    /// Returns when the load has ended, when there is nothing to load any more, and when the task is cancelled.
    func refresh(_ name: ServerName) async {
        var source: (any Source)?
        repeat {
            source = sources[name]
            await source?.refreshAction?()
        } while !Task.isCancelled && sources[name] !== source
    }

    // MARK: Posts

    /// Posts a status for a client; a server that nobody knows is added where the configuration accepts it.
    func post(_ text: String, level: Level, to name: ServerName) throws -> Int {
        if let server = configuration.servers[name] {
            if let failure = server.failure { throw RefusedPost.misconfigured(failure) }
        } else if !guests.contains(name) {
            // Judged before the server is added: what is refused changes nothing.
            _ = try StatusText(text)
            try welcome(name)
        }
        return try push.post(text, level: level, to: name)
    }

    private func welcome(_ name: ServerName) throws {
        guard configuration.acceptsAny else { throw MonitorError.noSuchServer(name) }
        guard guests.count < configuration.limits.servers else {
            throw RefusedPost.tooManyServers(configuration.limits.servers)
        }
        guests.insert(name)
        // Whoever posts may also speak sd_notify; where there is no room for its socket, posting still works.
        do throws(SourceProblem) {
            sources[name] = try factory.openNotifySocket(of: name)
        } catch {
            logger.warning("no notify socket for \(name): \(error)", metadata: ["server": "\(name)"])
        }
        monitor.add(ServerDefinition(name: name, source: SourceConfiguration.push.word))
        selectFirst()
    }

    /// Closes all sources.
    func close() {
        for source in sources.values { source.close() }
        sources = [:]
    }
}

/// Why a post is refused.
enum RefusedPost: Error {
    case misconfigured(String)
    case tooManyServers(Int)
}

extension ServerConfiguration {
    fileprivate func definition(name: ServerName, failure: String?) -> ServerDefinition {
        ServerDefinition(
            name: name, summary: summary, source: source.word, placeholder: placeholder,
            isRefreshable: source.isRefreshable && failure == nil, timeToLive: timeToLive, failure: failure)
    }

    /// Whether it says the same, wherever it says so.
    fileprivate func isSame(as other: ServerConfiguration) -> Bool {
        var moved = other
        moved.origin = origin
        return self == moved
    }
}

extension Failure {
    init(_ problem: Problem) {
        self.init(
            file: problem.origin.file, line: problem.origin.line, server: problem.server?.rawValue,
            reason: problem.reason)
    }
}
