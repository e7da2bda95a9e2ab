// SPDX-License-Identifier: Apache-2.0

public import StatusModel

/// A few bytes for each of the newest events, in memory that survives this process, such as a mapped file.
///
/// After a crash they tell exactly how many events each reader has missed, and which servers had events that were not saved. An event is noted
/// before any reader can get it.
public struct EventTally {
    /// An event: its kind, and a number for its server.
    struct Entry: Equatable {
        var server: UInt64
        var revision: UInt32
        var kind: UInt8
        var isOfSelected: UInt8
        private var unused: UInt16 = 0

        init(server: UInt64, revision: Int, kind: EventKind?, isOfSelected: Bool) {
            self.server = server
            self.revision = UInt32(truncatingIfNeeded: revision)
            self.kind = Self.number(of: kind)
            self.isOfSelected = isOfSelected ? 1 : 0
        }

        /// Nil for a probe.
        var event: EventKind? { EventKind.allCases.indices.contains(Int(kind)) ? EventKind.allCases[Int(kind)] : nil }

        @inline(__always)
        private static func number(of kind: EventKind?) -> UInt8 {
            switch kind {
            case .snapshot: 0
            case .selected: 1
            case .changed: 2
            case .updated: 3
            case .refreshing: 4
            case .refreshed: 5
            case .added: 6
            case .removed: 7
            case .gap: 8
            case .alive: 9
            case nil: 255
            }
        }
    }

    private struct Header {
        var magic: UInt64
        var version: UInt64
        var epoch: (UInt64, UInt64)
        var latest: Int64
        var oldest: Int64
    }

    private static let magic: UInt64 = 0x7374_6174_7573_6401
    /// The number of events, a power of two: as many as the log keeps.
    static let capacity = 4096
    private static let headerSize = 64
    /// The bytes that a tally needs.
    public static var size: Int { headerSize + capacity * MemoryLayout<Entry>.stride }

    private let header: UnsafeMutablePointer<Header>
    private let entries: UnsafeMutablePointer<Entry>

    /// Uses memory of ``size`` bytes, which must stay mapped as long as the process runs.
    public init(_ memory: UnsafeMutableRawPointer) {
        header = memory.bindMemory(to: Header.self, capacity: 1)
        entries = (memory + Self.headerSize).bindMemory(to: Entry.self, capacity: Self.capacity)
    }

    /// Begins after an event.
    mutating func begin(_ epoch: Epoch, after revision: Int) {
        header.pointee = Header(
            magic: Self.magic, version: 1, epoch: epoch.words, latest: Int64(revision), oldest: Int64(revision) + 1)
    }

    /// Notes the next event.
    @inline(__always)
    mutating func note(_ entry: Entry, at revision: Int) {
        entries[revision & (Self.capacity - 1)] = entry
        header.pointee.latest = Int64(revision)
    }

    /// What the run that used the memory before has noted; nil if there was none.
    public func read() -> PastEvents? {
        let (header, entries) = (header.pointee, entries)
        let (latest, oldest) = (Int(header.latest), Int(header.oldest))
        guard header.magic == Self.magic, header.version == 1, latest >= 0, oldest >= 1, oldest <= latest + 1 else {
            return nil
        }
        let first = max(oldest, latest - Self.capacity + 1)
        var past = PastEvents(epoch: Epoch(header.epoch), oldest: first, entries: [])
        for revision in first..<latest + 1 {
            let entry = entries[revision & (Self.capacity - 1)]
            guard entry.revision == UInt32(truncatingIfNeeded: revision) else { return nil }
            past.entries.append(entry)
        }
        return past
    }
}

/// The events of an earlier run, of which the kind and the server are known, but nothing else.
public struct PastEvents: Equatable, Sendable {
    /// The epoch of their cursors.
    public var epoch: Epoch
    /// The revision of the oldest one.
    var oldest: Int
    /// They are in order, and have no hole.
    var entries: [EventTally.Entry]

    /// The revision of the newest one.
    public var latest: Int { oldest + entries.count - 1 }

    /// The number of events from a revision on that a reader wants; nil if older ones are unknown.
    func count(after revision: Int, wantedBy position: WatchPosition) -> Int? {
        guard revision + 1 >= oldest else { return nil }
        return entries[min(entries.count, revision + 1 - oldest)...].count { position.wants($0) }
    }
}

extension EventTally.Entry: Sendable {}
