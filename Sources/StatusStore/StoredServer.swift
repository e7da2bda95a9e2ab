// SPDX-License-Identifier: Apache-2.0

public import StatusAlerts
public import StatusModel
public import StatusMonitor

public struct StoredServer: Equatable, Sendable {
    public var memory: ServerMemory
    public var source: SourceMemory

    public init(_ memory: ServerMemory, source: SourceMemory = SourceMemory()) {
        self.memory = memory
        self.source = source
    }

    public var name: ServerName { memory.state.name }
}

/// The changes to save in one transaction.
public struct StoreBatch: Sendable {
    public var log: LogMemory
    public var configuredSelection: ServerName?
    /// Whether the selection follows the worst server.
    public var followsWorst = false
    /// The time of the clock by which entries of the history age.
    public var historyClock: Timestamp?
    /// Whether a history is kept, so that what the servers' checks measured is kept, too.
    public var keepsHistory = true
    /// Whether the batch contains all servers, so that an empty history can begin with them.
    public var beginsHistory = false
    public var servers: [StoredServer] = []
    public var removed: [ServerName] = []
    /// The new entries of the history.
    public var changes: [Change] = []
    /// Servers that were renamed, as (former, present): the present one continues the history.
    public var renamed: [(ServerName, ServerName)] = []
    /// What receivers of alerts were told; nil for what need not be kept any more.
    public var told: [(AlertKey, Told?)] = []
    /// The newest entries of the log, with which streams can continue; nil except in the daemon's last batch.
    public var entries: [LogEntry]?

    public init(log: LogMemory) { self.log = log }
}

/// The contents of the store when it was opened.
public struct StoreContents: Sendable {
    /// The data for the monitor; nil if the store is new.
    public var memory: LedgerMemory?
    public var sources: [ServerName: SourceMemory] = [:]
    public var configuredSelection: ServerName?
    public var followsWorst = false
    /// What receivers of alerts were told.
    public var told: [AlertKey: Told] = [:]
    /// The last time of the clock by which entries of the history age; nil if it was not saved.
    public var historyClock: Timestamp?
    /// The number of servers that could not be read, because their rows are damaged.
    public var damagedRows = 0

    public init() {}

    /// The saved time of the history's clock, with the time since boot at which it was saved.
    ///
    /// If the machine has booted since, the time in between is unknown and does not count.
    public func historyTime(at now: Moment) -> Moment? {
        let saved = memory.flatMap { $0.isOfThisBoot ? $0.log.notedAt.boot : nil }
        return historyClock.map { Moment(wall: $0, boot: saved ?? now.boot) }
    }
}
