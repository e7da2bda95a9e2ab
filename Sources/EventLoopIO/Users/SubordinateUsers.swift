// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The ranges of user ids in `/etc/subuid` (subuid(5)), each of which counts as one user.
///
/// Any user can run processes as each id of its range (newuidmap(1)). If each id counted as a user, limits for one user would have no
/// effect.
@EventLoop
public final class SubordinateUsers {
    /// Called each time the file cannot be read, with the reason.
    public var onFailure: (_ reason: String) -> Void = { _ in }

    private let path: String
    private let interval: Duration
    private var ranges = IDRanges()
    private var isReading = false
    private var lastReading: ContinuousClock.Instant?

    /// Has no ranges before the first ``refresh(within:)``.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - interval: how long the ranges are used before the file is read again.
    public init(path: String = "/etc/subuid", interval: Duration = .seconds(10)) {
        self.path = path
        self.interval = interval
    }

    /// Returns the id that stands for all ids of a range: its first one, or the id itself if it is in no range.
    ///
    /// If the ranges are old, this starts reading the file, without waiting; the result applies from then on.
    public func account(of user: UInt32) -> UInt32 {
        guard user >= IDRanges.lowest, user != geteuid() else { return user }
        if isOld, !isReading { startReading() }
        return ranges.first(of: user)
    }

    /// Reads the file, and waits up to `limit` for that.
    public func refresh(within limit: Duration) async {
        _ = await TimedWait<Void>.run(within: limit) { end in startReading { end(()) } }
    }

    private var isOld: Bool { lastReading.map { $0 + interval <= .now } ?? true }

    private func startReading(then end: @escaping @Sendable () -> Void = {}) {
        isReading = true
        BlockingThread.start { [path] in
            let result = Self.read(path)
            EventLoop.perform { self.take(result) }
            end()
        }
    }

    private func take(_ result: Result<IDRanges, IOError>) {
        switch result {
        case .success(let ranges): self.ranges = ranges
        case .failure(let error): onFailure(error.message)
        }
        isReading = false
        lastReading = .now
    }

    /// The longest file that is read, in bytes.
    private nonisolated static let longest = 1 << 24

    private nonisolated static func read(_ path: String) -> Result<IDRanges, IOError> {
        guard let file = fopen(path, "re") else {
            return errno == ENOENT ? .success(IDRanges()) : .failure(IOError(errno: errno, "cannot read \(path)"))
        }
        defer { fclose(file) }
        let text = String(unsafeUninitializedCapacity: longest) { fread($0.baseAddress, 1, $0.count, file) }
        return ferror(file) == 0
            ? .success(IDRanges(parsing: text)) : .failure(IOError(errno: errno, "cannot read \(path)"))
    }
}

/// Ranges of ids; overlapping ones count as one.
struct IDRanges: Sendable {
    /// Lower ids are those of real users and services, whatever a range contains.
    static let lowest: UInt32 = 65_536

    /// In ascending order.
    private var ranges: [Range<UInt32>] = []

    init() {}

    /// Reads lines of the form `OWNER:FIRST:COUNT`, and ignores others.
    ///
    /// It also ignores ranges of root, which no ordinary user can use, but which may contain the ids of real users.
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
        guard fields.count == 3, fields[0] != "root", fields[0] != "0",
            let first = UInt32(fields[1]), let count = UInt32(fields[2])
        else { return nil }
        let (end, isTooHigh) = first.addingReportingOverflow(count)
        let range = max(first, lowest)..<max(isTooHigh ? .max : end, lowest, first)
        return range.isEmpty ? nil : range
    }

    /// Returns the first id of the range that contains an id, or the id itself.
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
