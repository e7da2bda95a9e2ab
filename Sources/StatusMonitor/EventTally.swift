// SPDX-License-Identifier: Apache-2.0

public import StatusModel
import Synchronization

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
        /// Without it, the size would depend on the compiler.
        private var unused: UInt16 = 0

        init(server: UInt64, revision: Int, kind: EventKind?, isOfSelected: Bool) {
            self.server = server
            self.revision = UInt32(truncatingIfNeeded: revision)
            self.kind = Self.number(of: kind)
            self.isOfSelected = isOfSelected ? 1 : 0
        }

        /// Whether a daemon was started here after another one had been killed.
        var isStart: Bool { kind == Self.start }

        fileprivate static let start: UInt8 = 254
        private static let probe: UInt8 = 255

        /// Whether it can have been noted; damage may be the reason if it cannot.
        fileprivate var isKnown: Bool { event != nil || kind == Self.start || kind == Self.probe }

        /// Nil for a probe, and for a start.
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
            case nil: probe
            }
        }
    }

    private struct Header {
        var magic: UInt64
        var version: UInt64
        var epoch: (UInt64, UInt64)
        var oldest: Int64
    }

    private static let magic: UInt64 = 0x7374_6174_7573_6401
    /// The number of events, a power of two: as many as the log keeps.
    static let capacity = 4096
    private static let headerSize = 64
    /// The bytes that a tally needs.
    public static var size: Int { headerSize + capacity * MemoryLayout<Entry>.stride }

    /// The greatest revision that is believed: more events than any run has.
    private static let mostEvents: Int64 = 1 << 53

    private let header: UnsafeMutablePointer<Header>
    /// The revision of the newest event, written after the event itself: the process may end in between.
    private let latest: UnsafeMutablePointer<Atomic<Int64>>
    private let entries: UnsafeMutablePointer<Entry>

    /// Uses memory of ``size`` bytes, which must stay mapped as long as the process runs.
    public init(_ memory: UnsafeMutableRawPointer) {
        header = memory.bindMemory(to: Header.self, capacity: 1)
        latest = (memory + MemoryLayout<Header>.size).bindMemory(to: Atomic<Int64>.self, capacity: 1)
        entries = (memory + Self.headerSize).bindMemory(to: Entry.self, capacity: Self.capacity)
    }

    /// Begins after an event.
    mutating func begin(_ epoch: Epoch, after revision: Int) {
        header.pointee = Header(
            magic: Self.magic, version: 1, epoch: epoch.words, oldest: Int64(revision) + 1)
        latest.pointee.store(Int64(revision), ordering: .releasing)
    }

    /// Notes the next event.
    @inline(__always)
    mutating func note(_ entry: Entry, at revision: Int) {
        entries[revision & (Self.capacity - 1)] = entry
        latest.pointee.store(Int64(revision), ordering: .releasing)
    }

    /// Notes that the newest entry is the start of a daemon that continues after one that was killed, with what was saved up to `saved`.
    mutating func markStart(at revision: Int, after saved: Int) {
        let place = revision & (Self.capacity - 1)
        entries[place].kind = Entry.start
        entries[place].server = UInt64(saved)
    }

    /// What the run that used the memory before has noted; nil if there was none.
    public func read() -> PastEvents? {
        let header = header.pointee
        let (latest, range) = (latest.pointee.load(ordering: .acquiring), 0...Self.mostEvents)
        guard header.magic == Self.magic, header.version == 1, range.contains(latest),
            range.contains(header.oldest - 1),
            header.oldest <= latest + 1
        else { return nil }
        return past(Epoch(header.epoch), from: Int(header.oldest), to: Int(latest))
    }

    private func past(_ epoch: Epoch, from oldest: Int, to latest: Int) -> PastEvents? {
        // The oldest place may be half overwritten by an event that was not noted completely.
        let first = max(oldest, latest - Self.capacity + 2)
        var past = PastEvents(epoch: epoch, oldest: first, entries: [])
        for revision in first..<latest + 1 {
            let entry = entries[revision & (Self.capacity - 1)]
            guard entry.revision == UInt32(truncatingIfNeeded: revision), entry.isKnown else { return nil }
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

    /// The revision of the last start up to a revision, if the daemon continued with what was saved up to `saved`; nil if it did not.
    func lastStart(upTo revision: Int, after saved: Int) -> Int? {
        let known = entries.prefix(max(0, revision + 1 - oldest))
        guard let start = known.lastIndex(where: \.isStart), known[start].server == UInt64(saved) else { return nil }
        return oldest + start
    }

    /// The revisions from the first event after `saved` on; nil if there is none.
    func lost(after saved: Int) -> ClosedRange<Int>? {
        guard saved + 1 >= oldest else { return saved + 1...latest }
        let unsaved = entries[min(entries.count, saved + 1 - oldest)...]
        return unsaved.firstIndex { $0.event != nil }.map { oldest + $0...latest }
    }

    /// The number of events from a revision on that a reader wants; nil if older ones are unknown.
    func count(after revision: Int, wantedBy position: WatchPosition) -> Int? {
        guard revision + 1 >= oldest else { return nil }
        let server: UInt64? =
            if case .server(let name) = position.target { StableHash(of: name.rawValue).value } else { nil }
        return entries[min(entries.count, revision + 1 - oldest)...].count { position.wants($0, server: server) }
    }
}

extension EventTally.Entry: Sendable {}
