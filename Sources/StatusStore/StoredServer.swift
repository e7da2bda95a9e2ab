// SPDX-License-Identifier: Apache-2.0

public import StatusModel
public import StatusMonitor

/// What the store keeps of a server.
public struct StoredServer: Equatable, Sendable {
    /// What its monitor needs.
    public var memory: ServerMemory
    /// What its source needs.
    public var source: SourceMemory

    public init(_ memory: ServerMemory, source: SourceMemory = SourceMemory()) {
        self.memory = memory
        self.source = source
    }

    public var name: ServerName { memory.state.name }
}

/// What the store is given at a time, to be saved in one transaction.
public struct StoreBatch: Sendable {
    /// The selection and the log.
    public var log: LogMemory
    /// The server that the configuration selects.
    public var configuredSelection: ServerName?
    /// The time by which entries of the history are too old.
    public var historyClock: Timestamp?
    /// Whether it has all servers, so that the history can begin with them if it has nothing yet.
    public var beginsHistory = false
    /// The servers that have changed.
    public var servers: [StoredServer] = []
    /// The servers that were removed.
    public var removed: [ServerName] = []
    /// The new entries of the history.
    public var changes: [Change] = []
    /// The newest entries of the log, with which its streams can continue; nil before the daemon's end.
    public var entries: [LogEntry]?

    public init(log: LogMemory) { self.log = log }
}

/// What the store had when it was opened.
public struct StoreContents: Sendable {
    /// What the monitor needs; nil if the store is new.
    public var memory: LedgerMemory?
    /// The sources of its servers.
    public var sources: [ServerName: SourceMemory] = [:]
    /// The server that the configuration selected.
    public var configuredSelection: ServerName?
    /// The time by which entries of the history were too old; nil if it was not saved.
    public var historyClock: Timestamp?
    /// The number of servers that could not be read, because their rows are damaged.
    public var damagedRows = 0

    public init() {}

    /// The time by which entries were too old when it was saved, by the boot clock of now.
    ///
    /// If the machine was booted since then, nobody knows how long it was down, so that does not count.
    public func historyTime(at now: Moment) -> Moment? {
        let saved = memory.flatMap { $0.isOfThisBoot ? $0.log.notedAt.boot : nil }
        return historyClock.map { Moment(wall: $0, boot: saved ?? now.boot) }
    }
}
