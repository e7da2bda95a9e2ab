// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The ranges of user ids in `/etc/subuid` (subuid(5)), each of which counts as one user.
///
/// Any user can run processes as each id of its range (newuidmap(1)). If these counted as thousands of users, each limit for one user would be
/// none.
@EventLoop
public final class SubordinateUsers {
    /// Ids below this are those of real users and services, whatever the file says.
    private static let lowest: UInt32 = 65_536
    /// The longest file that is read, in bytes.
    private nonisolated static let longest = 1 << 20

    private let path: String
    private let interval: Duration
    private var ranges = IDRanges()
    private var isReading = false
    private var lastReading: ContinuousClock.Instant?

    /// No ranges before the first ``refresh()``.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - interval: how long what was read is taken to be current.
    public init(path: String = "/etc/subuid", interval: Duration = .seconds(10)) {
        self.path = path
        self.interval = interval
    }

    /// The user id that all ids of the same range count as: the first of the range; the id itself if it is in none.
    public func account(of user: UInt32) -> UInt32 {
        guard user >= Self.lowest else { return user }
        if mustRead { startReading() }
        return ranges.first(of: user)
    }

    /// Reads the file.
    public func refresh() async {
        let path = path
        ranges = await BlockingThread.run { Self.read(path) }
        lastReading = .now
    }

    private var mustRead: Bool {
        guard !isReading else { return false }
        return lastReading.map { $0 + interval <= .now } ?? true
    }

    /// Reads it without keeping anybody waiting: what is current counts from the next time on.
    private func startReading() {
        isReading = true
        // A task of nobody's: it ends when the file has been read.
        Task {
            await refresh()
            isReading = false
        }
    }

    private nonisolated static func read(_ path: String) -> IDRanges {
        guard let file = fopen(path, "re") else { return IDRanges() }
        defer { fclose(file) }
        let text = String(unsafeUninitializedCapacity: longest) { fread($0.baseAddress, 1, $0.count, file) }
        return IDRanges(parsing: text)
    }
}

/// Ranges of ids, of which overlapping ones count as one.
struct IDRanges: Sendable {
    /// In their order.
    private var ranges: [Range<UInt32>] = []

    /// No ranges.
    init() {}

    /// Reads lines of the form `OWNER:FIRST:COUNT`; others are ignored.
    init(parsing text: String) {
        let all = text.split(whereSeparator: \.isNewline).compactMap(Self.range)
        for range in all.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = ranges.last, range.lowerBound < last.upperBound {
                ranges[ranges.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                ranges.append(range)
            }
        }
    }

    private static func range(_ line: Substring) -> Range<UInt32>? {
        let fields = line.split(separator: ":", omittingEmptySubsequences: false)
        guard fields.count == 3, let first = UInt32(fields[1]), let count = UInt32(fields[2]), count > 0 else {
            return nil
        }
        let (end, isTooHigh) = first.addingReportingOverflow(count)
        return first..<(isTooHigh ? .max : end)
    }

    /// The first id of the range that an id is in, or the id itself.
    func first(of id: UInt32) -> UInt32 {
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].lowerBound <= id { low = middle + 1 } else { high = middle }
        }
        guard low > 0, ranges[low - 1].contains(id) else { return id }
        return ranges[low - 1].lowerBound
    }
}
