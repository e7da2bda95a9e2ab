// SPDX-License-Identifier: Apache-2.0

import NotificationStreams
import SourceKinds
import StatusConfiguration
import StatusInterface
import StatusModel
import StatusMonitor
import StatusSources

/// Calls of clients that concern servers and their sources.
extension ServerRegistry {
    // MARK: Posts

    /// Posts a status for a client; an unknown server is added if the configuration accepts it.
    func post(_ text: StatusText, level: Level, to name: ServerName, by caller: Caller? = nil) throws -> Int {
        do {
            return try monitor.post(text, level: level, to: name, by: .client(caller))
        } catch LedgerError.noSuchServer {
            try welcome(name, by: caller)
            return try monitor.post(text, level: level, to: name, by: .client(caller))
        } catch LedgerError.takesNoPosts {
            throw refusal(ofPostTo: name)
        }
    }

    private func refusal(ofPostTo name: ServerName) -> MonitorError {
        if let failure = failure(of: name) {
            return .invalidStatus(reason: "\(name) cannot be followed: \(failure)")
        }
        let source = configuration.servers[name]?.source?.key ?? (try? monitor.state(of: name))?.source ?? "elsewhere"
        return .invalidStatus(
            reason: "the status of \(name) comes from \(source); only servers with “push” or “notify” accept posts")
    }

    private func welcome(_ name: ServerName, by caller: Caller?) throws {
        guard configuration.acceptsAny else {
            throw MonitorError.noSuchServer(
                server: name.rawValue,
                reason: """
                    “accept: configured” allows only configured servers; add it under “servers” and run \
                    “statusctl reload”
                    """)
        }
        let limit = configuration.limits.servers
        guard servers.unconfigured.count < limit else {
            throw MonitorError.limitReached(limit: "servers", value: limit)
        }
        servers.unconfigured.insert(name)
        sources.openSocket(of: name)
        monitor.add(ServerDefinition(name: name, source: FollowedServers.unconfiguredSource.key), by: caller)
        selectFirst()
    }

    /// Removes a server that is not configured.
    func forget(_ name: ServerName, by caller: Caller? = nil) throws {
        if let server = configuration.servers[name] {
            throw MonitorError.isConfigured(server: name.rawValue, file: server.origin.file)
        }
        if let leftovers = servers.leftovers, leftovers.sources[name] != nil, let file = leftovers.file {
            throw MonitorError.isConfigured(server: name.rawValue, file: file)
        }
        if (try? monitor.state(of: name))?.isOfOtherHost == true {
            throw MonitorError.isFollowed(server: name.rawValue, host: (name.host ?? name).rawValue)
        }
        guard servers.unconfigured.remove(name) != nil else { throw LedgerError.noSuchServer(name) }
        // The configured server is selected again if it comes back.
        if name == configuration.select, (try? monitor.selectedState().name) == name { servers.hasSelected = false }
        sources.remove(name, by: caller)
    }

    // MARK: Other hosts

    /// Takes what another host says of itself; nil if it is gone.
    func report(_ report: HostReport?, of host: ServerName) throws {
        guard host.isHost else {
            throw MonitorError.reportRefused(reason: "“\(host)” is no name of a host, which has neither “@” nor “:”")
        }
        try take { room throws(HostReportError) in
            // Hosts that somebody invents leave room for the servers of others.
            let hosts = configuration.limits.servers / 2 - monitor.hostCount
            try monitor.report(report, of: host, limit: min(room, hosts))
        }
    }

    /// Takes the state of a server on another host.
    func report(_ state: ServerState, of host: ServerName, epoch: Int) throws {
        try take { room throws(HostReportError) in try monitor.report(state, of: host, epoch: epoch, limit: room) }
    }

    private func take(_ report: (_ room: Int) throws(HostReportError) -> Void) throws {
        let limit = configuration.limits.servers
        do throws(HostReportError) { try report(limit - monitor.reportedServerCount) } catch .full {
            throw MonitorError.limitReached(limit: "servers", value: limit)
        } catch { throw MonitorError(error) }
        selectFirst()
    }

    // MARK: Refreshes

    /// Throws if the server's status cannot be loaded.
    func checkRefreshable(_ name: ServerName) throws {
        _ = try monitor.state(of: name)
        if let failure = failure(of: name) {
            throw MonitorError.refreshFailed(
                server: name.rawValue,
                reason: "it cannot be followed: \(failure)")
        }
        guard sources[name]?.refreshAction != nil else { throw MonitorError.notRefreshable(server: name.rawValue) }
    }

    /// Loads a server's status; if a reload replaces the source meanwhile, the new source loads it again.
    ///
    /// Returns when the load has ended.
    ///
    /// - Throws: `CancellationError`; the errors of ``checkRefreshable(_:)`` if there is nothing left to load.
    func refresh(_ name: ServerName) async throws {
        var source: (any Source)?
        repeat {
            try checkRefreshable(name)
            source = sources[name]
            await source?.refreshAction?()
            try Task.checkCancellation()
        } while sources[name] !== source
    }
}
