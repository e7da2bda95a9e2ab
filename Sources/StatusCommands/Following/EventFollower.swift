// SPDX-License-Identifier: Apache-2.0

import StatusInterface
import StatusModel
import Varlink

/// Follows servers over connections that break and come back, as if there were one stream.
struct EventFollower {
    /// A change that a follower reports.
    enum Step {
        case event(Event)
        /// The daemon is away, for a reason in a sentence, or refuses to answer; reported once until it is back.
        case away(String, isRefusal: Bool = false)
        /// The daemon has been away for longer than a restart takes; a sentence says what to do about it.
        case stillAway(String)
        /// The daemon is back, or is running for the first time.
        case back(isFirst: Bool)
        /// The daemon is running, but has no server of this name, which may come with its next post.
        case missing(String)
    }

    private enum State {
        /// No event has come yet.
        case beginning
        /// Events have come. The last snapshot shows servers that changed after its cursor, at these revisions.
        case following([ServerName: Int])
        /// The daemon has no server of the name that the user gave; nothing is shown until it comes.
        case lacking
    }

    private let session: Session
    private var parameters: MonitorInterface.WatchParameters
    private let resumes: Bool
    /// Whether the server may be missing without an error.
    private let takesAnyName: Bool
    private var state = State.beginning

    /// - Parameters:
    ///   - client: the first connection, if there is one.
    ///   - mayAsk: whether ssh(1) may ask the user for the first connection.
    ///   - resumes: whether a stream continues where the one before broke; otherwise it begins with a snapshot.
    init(
        _ parameters: MonitorInterface.WatchParameters, at address: DaemonAddress, _ persistence: Session.Persistence,
        resumes: Bool = true, continuing client: MonitorClient? = nil, mayAsk: Bool = true
    ) {
        session = Session(to: address, persistence, continuing: client, mayAsk: mayAsk)
        self.parameters = parameters
        self.resumes = resumes
        takesAnyName = if case .whateverFails = persistence { true } else { false }
    }

    /// Follows the servers.
    ///
    /// - Throws: what ends it, by its persistence; `CancellationError`; what `take` throws.
    mutating func run(_ take: (Step) async throws -> Void) async throws -> Never {
        // Each pass ends by throwing.
        while true {
            try await session.run {
                try await note($0, take)
            } _: {
                try await follow($0, take)
                throw VarlinkClientError(.closed, "the daemon ended the stream")
            }
        }
    }

    // MARK: Events

    private mutating func follow(_ client: MonitorClient, _ take: (Step) async throws -> Void) async throws {
        do {
            try await stream(from: client, take)
        } catch MonitorError.noSuchServer(let name, _) where session.isAway || takesAnyName {
            // A server that is not configured returns with its next post. It is awaited on the same connection, so
            // that the daemon's end is noticed.
            try await hasAnswered(take)
            try await take(.missing(name))
            state = .lacking
            try await stream(from: client, take)
        }
    }

    private mutating func stream(from client: MonitorClient, _ take: (Step) async throws -> Void) async throws {
        var parameters = parameters
        if case .lacking = state { parameters.mayComeLater = true }
        for try await event in try await client.watch(parameters) {
            try await hasAnswered(take)
            // The next stream continues here if this one breaks.
            if resumes { self.parameters.since = event.cursor }
            if isNew(event) { try await take(.event(event)) }
        }
    }

    /// Whether an event shows more than what was shown before.
    ///
    /// A stream that continues after the start of a snapshot repeats events that the snapshot already includes.
    private mutating func isNew(_ event: Event) -> Bool {
        var shown: [ServerName: Int] = [:]
        switch state {
        case .lacking where event.server == nil: return false
        case .following(let revisions): shown = revisions
        case .beginning, .lacking: break
        }
        if let servers = event.servers {
            let newer = servers.filter { $0.revision > event.cursor.revision }
            shown = Dictionary(newer.map { ($0.name, $0.revision) }) { $1 }
        }
        defer { state = .following(shown) }
        guard let server = event.server, let revision = shown[server.name] else { return true }
        guard event.kind == .selected else { return server.revision > revision }
        // Always show a selection and every event after it, so that the newest state comes last.
        shown[server.name] = nil
        return true
    }

    // MARK: The connection

    private mutating func hasAnswered(_ take: (Step) async throws -> Void) async throws {
        try await session.hasAnswered { try await note($0, take) }
        if case .beginning = state { state = .following([:]) }
    }

    private mutating func note(_ notice: Session.Notice, _ take: (Step) async throws -> Void) async throws {
        let isFirst = if case .beginning = state { true } else { false }
        // The daemon is asked for the server again when it is back.
        if case .lost = notice, case .lacking = state { state = .following([:]) }
        switch notice {
        case .lost(.connection(let error)) where error.isLoss: try await take(.away(absence(error, isFirst)))
        case .lost(let error):
            let failure = CommandFailure(error, address: session.address)
            try await take(.away(failure.sentence, isRefusal: failure.status != .noDaemon))
        // If no event ever came, the advice was given at once.
        case .stillAway where isFirst: break
        case .stillAway: try await take(.stillAway(session.address.absenceAdvice))
        case .back: try await take(.back(isFirst: isFirst))
        }
    }

    private func absence(_ error: VarlinkClientError, _ isFirst: Bool) -> String {
        let address = session.address
        if address.isRemote, !isFirst { return "the connection to \(address) broke; connecting again" }
        let what = error.code == .timedOut ? "does not answer" : isFirst ? "closed the connection" : "disconnected"
        return "the daemon \(what); \(isFirst ? "waiting for it; see \(address.log)" : "waiting for it to return")"
    }
}
