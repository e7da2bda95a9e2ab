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
    /// Those to empty, which come after all others.
    private var removals: Deque<ServerName> = []
    /// The servers that are published, and the newest revision of each.
    private var revisions: [ServerName: Int] = [:]
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

    /// The servers that are published.
    var names: Set<ServerName> { Set(revisions.keys) }

    var count: Int { revisions.count }

    // MARK: Inputs

    /// Takes an event of the daemon.
    mutating func take(_ event: Event) {
        switch event.kind {
        case .snapshot: takeSnapshot(event.servers ?? [])
        case .removed: if let name = event.server?.name, revisions[name] != nil { remove(name) }
        // Which server is selected concerns only its own host.
        case .selected, .gap, .alive: break
        default: if let state = event.server { add(state) }
        }
    }

    /// The broker keeps a message for this name, as the subscribing connection has heard.
    mutating func heard(_ name: ServerName) {
        if kept == nil {
            if revisions[name] == nil, removals.count < Self.mostLeftovers { remove(name) }
        } else if kept?.count ?? 0 < Self.mostLeftovers {
            kept?.insert(name)
        }
    }

    /// Whether hosts that follow take this message for a newer one than any that this connection has published.
    func isOvertaken(by version: StateVersion?, for name: ServerName) -> Bool {
        guard let revision = revisions[name] else { return false }
        return version.map { $0 > StateVersion(epoch: epoch, revision: revision) } ?? true
    }

    /// A message was sent that is not from ``next()``.
    mutating func sent() { unacknowledged += 1 }

    mutating func acknowledged() { unacknowledged = max(0, unacknowledged - 1) }

    /// The next message; nil if there is none, or if the broker is behind.
    mutating func next() -> OutgoingMessage? {
        guard unacknowledged < Self.window else { return nil }
        guard let (name, payload) = takeWaiting() else {
            guard kept == nil, discovery != nil else { return nil }
            let names = names
            guard let message = discovery?.next(names: names, host: host) else { return nil }
            unacknowledged += 1
            return message
        }
        unacknowledged += 1
        let bytes: [UInt8] = if case .state(let state) = payload { Self.payload(of: state, epoch: epoch) } else { [] }
        return OutgoingMessage(topic: Topic.server(host: host, name).text, payload: bytes)
    }

    /// The names that the broker may have after this connection.
    var mayBeKept: Set<ServerName> { names.union(kept ?? []).union(removals) }

    /// What this connection has announced, for the next one.
    var announced: Discovery? { discovery }

    // MARK: -

    private mutating func takeSnapshot(_ states: [ServerState]) {
        let former = names.union(kept ?? [])
        discovery?.note(former)
        (revisions, kept) = ([:], nil)
        for state in states { add(state) }
        // After the servers, which matter more.
        for name in former.subtracting(names).sorted() { remove(name) }
    }

    private mutating func add(_ state: ServerState) {
        let isPublished = !state.isOfOtherHost && patterns.contains { fnmatch($0, state.name.rawValue, 0) == 0 }
        guard isPublished else { return }
        revisions[state.name] = state.revision
        wait(.state(state), for: state.name)
    }

    private mutating func remove(_ name: ServerName) {
        revisions[name] = nil
        wait(.empty, for: name)
    }

    private mutating func wait(_ payload: Payload, for name: ServerName) {
        let former = waiting.updateValue(payload, forKey: name)
        switch (payload, former) {
        case (.state, .state), (.empty, .empty): break
        case (.state, _): order.append(name)
        case (.empty, _): removals.append(name)
        }
    }

    /// A name may be in both queues, if its server came or went while it waited.
    private mutating func takeWaiting() -> (ServerName, Payload)? {
        while let name = order.popFirst() ?? removals.popFirst() {
            if let payload = waiting.removeValue(forKey: name) { return (name, payload) }
        }
        return nil
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
