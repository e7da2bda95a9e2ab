// SPDX-License-Identifier: Apache-2.0

import DequeModule
import Glibc
import StatusInterface
import StatusModel
import Varlink

/// Decides what a publishing connection sends next.
///
/// Only the newest state of a server waits, so that a slow broker gets no backlog. The machine keeps the names of
/// published servers, but no states other than those that wait.
struct PublishMachine {
    /// How many messages may be unacknowledged.
    static let window = 128
    /// A hostile client may invent names below this host's.
    static let mostLeftovers = 65_536

    private enum Payload { case state(ServerState), empty }

    private let host: String
    private let patterns: [String]
    private let epoch: Int
    private(set) var unacknowledged = 0
    private var waiting: [ServerName: Payload] = [:]
    private var order: Deque<ServerName> = []
    /// The newest revision that the daemon has told; nil before the first snapshot.
    private var latest: Int?
    /// The servers that are published.
    private(set) var names: Set<ServerName> = []
    /// Names that the broker has, until the first snapshot tells which of them exist.
    private var kept: Set<ServerName>?
    private var discovery: Discovery?

    /// - Parameters:
    ///   - patterns: the servers to publish, as in fnmatch(3).
    ///   - kept: the names that the broker may have.
    ///   - discovery: what the last connection announced; nil to announce nothing.
    init(
        host: String, patterns: [String], epoch: Int, kept: Set<ServerName> = [], discovery: Discovery? = nil
    ) {
        (self.host, self.patterns, self.epoch) = (host, patterns, epoch)
        (self.kept, self.discovery) = (kept, discovery)
    }

    // MARK: Inputs

    /// Takes an event of the daemon.
    mutating func take(_ event: Event) {
        if event.kind == .snapshot || latest != nil { latest = event.cursor.revision }
        switch event.kind {
        case .snapshot: takeSnapshot(event.servers ?? [])
        case .removed: if let name = event.server?.name, names.contains(name) { remove(name) }
        // Which server is selected concerns only its own host.
        case .selected, .gap, .alive: break
        default: if let state = event.server { add(state) }
        }
    }

    /// The broker keeps a message for this name, as the subscribing connection has heard.
    mutating func heard(_ name: ServerName) {
        if kept == nil {
            if !names.contains(name) { remove(name) }
        } else if kept?.count ?? 0 < Self.mostLeftovers {
            kept?.insert(name)
        }
    }

    /// Whether hosts that follow take this message for a newer one than any that this connection has published.
    func isOvertaken(by version: StateVersion?, for name: ServerName) -> Bool {
        guard names.contains(name), let latest else { return false }
        return version.map { $0 > StateVersion(epoch: epoch, revision: latest) } ?? true
    }

    /// A message was sent that is not from ``next()``.
    mutating func sent() { unacknowledged += 1 }

    mutating func acknowledged() { unacknowledged = max(0, unacknowledged - 1) }

    /// The next message; nil if there is none, or if the broker is behind.
    mutating func next() -> OutgoingMessage? {
        guard unacknowledged < Self.window else { return nil }
        guard let name = order.popFirst(), let payload = waiting.removeValue(forKey: name) else {
            guard kept == nil, let message = discovery?.next(names: names, host: host) else { return nil }
            unacknowledged += 1
            return message
        }
        unacknowledged += 1
        let bytes: [UInt8] = if case .state(let state) = payload { Self.payload(of: state, epoch: epoch) } else { [] }
        return OutgoingMessage(topic: Topic.server(host: host, name).text, payload: bytes)
    }

    /// The names that the broker may have after this connection.
    var mayBeKept: Set<ServerName> { names.union(kept ?? []).union(order) }

    /// What this connection has announced, for the next one.
    var announced: Discovery? { discovery }

    // MARK: -

    private mutating func takeSnapshot(_ states: [ServerState]) {
        let former = names.union(kept ?? [])
        discovery?.note(former)
        (names, kept) = ([], nil)
        for state in states { add(state) }
        // After the servers, which matter more.
        for name in former.subtracting(names).sorted() { remove(name) }
    }

    private mutating func add(_ state: ServerState) {
        let isPublished = !state.isOfOtherHost && patterns.contains { fnmatch($0, state.name.rawValue, 0) == 0 }
        guard isPublished else { return }
        names.insert(state.name)
        wait(.state(state), for: state.name)
    }

    private mutating func remove(_ name: ServerName) {
        names.remove(name)
        wait(.empty, for: name)
    }

    private mutating func wait(_ payload: Payload, for name: ServerName) {
        if waiting.updateValue(payload, forKey: name) == nil { order.append(name) }
    }

    /// The object that `statusctl --json status` shows, with the number of the connection.
    static func payload(of state: ServerState, epoch: Int) -> [UInt8] {
        var state = state
        state.isSelected = false
        var writer = JSONWriter()
        writer.value(state)
        return Array("{\"epoch\":\(epoch),".utf8) + writer.bytes.dropFirst()
    }
}
