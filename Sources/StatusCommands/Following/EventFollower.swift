// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import StatusInterface
import StatusModel
import Varlink

/// Follows servers over connections that break and come back, as if there were one stream.
struct EventFollower {
    /// What a follower has noticed.
    enum Step {
        case event(Event)
        /// The daemon is away, for a reason in a sentence, or refuses to answer; only once until it is back.
        case away(String, isRefusal: Bool = false)
        /// The daemon has been away for longer than a restart takes; what to do about it, in a sentence.
        case stillAway(String)
        /// The daemon is back, or is running for the first time.
        case back(isFirst: Bool)
        /// The daemon is running, but has no server of this name, which may come with its next post.
        case missing(String)
    }

    /// How long a follower tries.
    enum Persistence {
        /// Until the connection is lost.
        case none
        /// Until it fails for another reason than a lost connection.
        case reconnects
        /// For ever, whatever fails, as a status bar must.
        case unlimited
    }

    /// The time after which something that failed for another reason than a lost connection is tried again.
    private static let pause = Duration.seconds(1)

    private var parameters: WatchParameters
    private let address: DaemonAddress
    private let persistence: Persistence
    private let resumes: Bool
    /// Since when the daemon has been away, which was noticed; nil while it is not.
    private var awaySince: ContinuousClock.Instant?
    /// Whether it was noticed that it is still away.
    private var isLongAway = false
    /// Whether the daemon returned without the server.
    private var lacksServer = false
    /// Whether the daemon has sent an event.
    private var hasBegun = false
    /// The revisions of servers that changed after the last snapshot's cursor and are in that snapshot.
    private var snapshotRevisions: [ServerName: Int] = [:]

    private var isAway: Bool { awaySince != nil }

    /// - Parameter resumes: whether a stream continues where the one before broke; otherwise it begins with a snapshot.
    init(
        _ parameters: WatchParameters, at address: DaemonAddress, _ persistence: Persistence, resumes: Bool = true
    ) {
        self.parameters = parameters
        self.resumes = resumes
        self.address = address
        self.persistence = persistence
    }

    /// Follows, beginning with a connection if there is one.
    ///
    /// - Throws: what ends it, by its persistence; `CancellationError`; what `take` throws.
    mutating func run(_ client: MonitorClient? = nil, _ take: (Step) async throws -> Void) async throws -> Never {
        let daemon = await DaemonReturn(to: address)
        var next = client
        while true {
            var current = next
            next = nil
            do {
                if current == nil { current = try await connect(daemon, take) }
                if let current { try await follow(current, take) }
                throw VarlinkClientError(.closed, "the daemon ended the stream")
            } catch let error as MonitorError {
                try await goOn(after: error, take)
            } catch let error as VarlinkClientError {
                try await goOn(after: .connection(error), take)
            }
            // On the same connection, so that the daemon's end is noticed.
            if lacksServer { next = current }
        }
    }

    /// Connects; only the first time, the daemon may be started by that.
    private mutating func connect(
        _ daemon: DaemonReturn, _ take: (Step) async throws -> Void
    ) async throws -> MonitorClient {
        guard hasBegun || isAway else { return try await address.connect() }
        // What to do was said at once if there never was a connection.
        if let awaySince, hasBegun, !isLongAway {
            let rest = awaySince + DaemonAddress.restartTime - .now
            if rest > .zero, let client = try await wait(for: daemon, within: rest) { return client }
            isLongAway = true
            try await take(.stillAway(address.absenceAdvice))
        }
        return try await daemon.wait()
    }

    /// The connection; nil if the daemon does not return in this time.
    private func wait(for daemon: DaemonReturn, within limit: Duration) async throws -> MonitorClient? {
        do { return try await daemon.wait(within: limit) } catch let error as VarlinkClientError where error.isAbsence {
            return nil
        }
    }

    private mutating func follow(_ client: MonitorClient, _ take: (Step) async throws -> Void) async throws {
        var parameters = parameters
        parameters.mayComeLater = lacksServer ? true : nil
        for try await reply in try await client.watch(parameters) {
            // Not before the first event: a daemon that is stopping may still accept connections.
            try await noteReturn(take)
            // The next stream continues here if this one breaks.
            if resumes { self.parameters.since = reply.event.cursor }
            // Until the server comes, there is nothing to see.
            if lacksServer, reply.event.server == nil { continue }
            lacksServer = false
            if !isInSnapshot(reply.event) { try await take(.event(reply.event)) }
        }
    }

    // MARK: Failures

    /// Handles the failure of a stream; returns if another stream must follow.
    private mutating func goOn(after error: MonitorError, _ take: (Step) async throws -> Void) async throws {
        switch error {
        case .cancelled: throw error
        case _ where persistence == .none: throw error
        case .connection(let error) where error.isConnectionLoss: try await noteAbsence(absence(error), take)
        // A server that is not configured returns with its next post.
        case .noSuchServer(let name, _) where !lacksServer && (isAway || persistence == .unlimited):
            try await noteMissing(name, take)
        // Other clients of this user have taken all connections; try again as if the daemon were away.
        case _ where error.isConnectionLimit && isAway: break
        case _ where persistence == .unlimited:
            let failure = CommandFailure(error, address: address)
            try await noteAbsence(failure.sentence, isRefusal: failure.status != .noDaemon, take)
            try await EventLoop.sleep(for: Self.pause)
        default: throw error
        }
    }

    private func absence(_ error: VarlinkClientError) -> String {
        if address.isRemote, hasBegun { return "the connection to \(address) broke; connecting again" }
        let what = error.code == .timedOut ? "does not answer" : hasBegun ? "disconnected" : "closed the connection"
        let advice = hasBegun ? "waiting for it to return" : "waiting for it; see \(address.log)"
        return "the daemon \(what); \(advice)"
    }

    private mutating func noteAbsence(
        _ reason: String, isRefusal: Bool = false, _ take: (Step) async throws -> Void
    ) async throws {
        lacksServer = false
        guard !isAway else { return }
        (awaySince, isLongAway) = (.now, false)
        try await take(.away(reason, isRefusal: isRefusal))
    }

    private mutating func noteMissing(_ server: String, _ take: (Step) async throws -> Void) async throws {
        try await noteReturn(take)
        try await take(.missing(server))
        lacksServer = true
    }

    private mutating func noteReturn(_ take: (Step) async throws -> Void) async throws {
        defer { hasBegun = true }
        guard isAway else { return }
        awaySince = nil
        try await take(.back(isFirst: !hasBegun))
    }

    /// Whether the last snapshot showed the state of an event, or a newer one.
    ///
    /// A stream that continues after the start of a snapshot repeats events that the snapshot already includes.
    private mutating func isInSnapshot(_ event: Event) -> Bool {
        if let servers = event.servers {
            let newer = servers.filter { $0.revision > event.cursor.revision }
            snapshotRevisions = Dictionary(newer.map { ($0.name, $0.revision) }) { $1 }
        }
        guard let server = event.server, let shown = snapshotRevisions[server.name] else { return false }
        // Always show a selection and every event after it, so that the newest state comes last.
        if event.kind == .selected { snapshotRevisions[server.name] = nil }
        return event.kind != .selected && server.revision <= shown
    }
}
