// SPDX-License-Identifier: Apache-2.0

import StatusModel

/// The levels of the last hours of the servers on `top`'s screen, and which server's must be read next.
///
/// Cells begin at the same times for all servers.
struct TopStrips {
    /// What to read: the worst level in each part of a period.
    struct Request: Equatable {
        let server: TopServer
        let since: Timestamp
        let until: Timestamp
        let parts: Int
        /// The server's level now, and when it changed: it may have been another one for less than a frame.
        fileprivate let level: Level?
        fileprivate let levelChangedAt: Timestamp?
    }

    /// What the daemon replied.
    enum Answer {
        case levels([Level?])
        /// The daemon has no history.
        case unavailable
    }

    private struct Strip {
        let levels: [Level?]
        let request: Request
        let readAt: Timestamp
    }

    /// The length of the period in milliseconds.
    private static let period: Int64 = 12 * 3_600_000
    /// A server whose level changes all the time is read at most this often, in milliseconds.
    private static let pause: Int64 = 1000

    private var strips: [TopServer: Strip] = [:]
    /// The hosts without a history.
    private var unavailable: Set<Int> = []
    /// The number of hosts.
    var hosts = 1
    /// The number of cells for which the terminal has room, set by the view.
    var room = 0

    /// The number of cells that a terminal has room for; the strips are the first to go.
    static func room(width: Int) -> Int {
        switch width {
        case 160...: 48
        case 120...: 24
        case 100...: 12
        default: 0
        }
    }

    /// The number of cells of each strip; 0 for no strips.
    var parts: Int { unavailable.count == hosts ? 0 : room }

    /// The levels of a server; nil until they are read.
    subscript(server: TopServer) -> [Level?]? {
        strips[server].flatMap { $0.levels.count == parts ? $0.levels : nil }
    }

    /// The first of these servers whose strip is missing, or has changed.
    func next(of rows: some Sequence<TopRow>, now: Timestamp) -> Request? {
        guard parts > 0 else { return nil }
        let length = Self.period / Int64(parts)
        let until = (now.milliseconds / length + 1) * length
        return rows.lazy.filter { !unavailable.contains($0.id.host) }.map {
            Request(
                server: $0.id, since: Timestamp(milliseconds: until - Self.period),
                until: Timestamp(milliseconds: until), parts: parts, level: $0.server.countedLevel,
                levelChangedAt: $0.server.status?.levelChangedAt)
        }.first { isDue($0, now) }
    }

    private func isDue(_ request: Request, _ now: Timestamp) -> Bool {
        guard let strip = strips[request.server] else { return true }
        // The clock may be set.
        let isNew = 0..<Self.pause ~= now.milliseconds - strip.readAt.milliseconds
        return strip.request != request && !isNew
    }

    mutating func take(_ answer: Answer, to request: Request, now: Timestamp) {
        switch answer {
        case .levels(let levels): strips[request.server] = Strip(levels: levels, request: request, readAt: now)
        case .unavailable: unavailable.insert(request.server.host)
        }
    }

    mutating func forget(_ server: TopServer) { strips[server] = nil }

    mutating func forget(host: Int) {
        strips = strips.filter { $0.key.host != host }
        unavailable.remove(host)
    }
}
