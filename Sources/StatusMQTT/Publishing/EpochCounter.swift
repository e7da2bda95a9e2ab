// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusModel
import Synchronization

/// Numbers the publishing connections of this host; each number is higher than all before it.
///
/// Usually it is the time in milliseconds. The last number is kept in a file, for a clock that was set back.
final class EpochCounter: Sendable {
    /// How far a number may be ahead of the clock, in milliseconds: ten years.
    ///
    /// Whoever may write below a host's name may write any number there, and the host must still find a higher one.
    private static let longestLead = 315_360_000_000

    private let counter: Mutex<Int>
    private let path: String?

    /// - Parameter directory: `STATE_DIRECTORY`; nil to keep no number.
    init(directory: String?) {
        path = directory.map { "\($0)/epoch" }
        counter = Mutex(path.flatMap(Self.read) ?? 0)
    }

    /// The number of the next connection; called on a thread that may block.
    func next() -> Int {
        let epoch = counter.withLock { last in
            last = max(last + 1, Int(clamping: Timestamp.now.milliseconds))
            return last
        }
        if let path { Self.write(epoch, to: path) }
        return epoch
    }

    /// The broker has a message with this number for this host's name.
    func saw(_ epoch: Int) { counter.withLock { $0 = max($0, epoch) } }

    /// The highest number that was given or seen.
    var last: Int { counter.withLock { $0 } }

    /// Whether a host can have this number.
    static func isPlausible(_ epoch: Int, at wall: Timestamp) -> Bool {
        epoch >= 0 && epoch <= Int(clamping: wall.milliseconds) + longestLead
    }

    private static func read(_ path: String) -> Int? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 32)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        let digits = bytes.prefix(max(0, count)).prefix { $0 != UInt8(ascii: "\n") }
        return Int(String(decoding: digits, as: UTF8.self)).flatMap { isPlausible($0, at: .now) ? $0 : nil }
    }

    /// Replaces the file; a number that cannot be kept costs nothing while the clock is right.
    private static func write(_ epoch: Int, to path: String) {
        let new = path + ".new"
        let descriptor = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        let text = "\(epoch)\n"
        let count = Glibc.write(descriptor, text, text.utf8.count)
        close(descriptor)
        if count == text.utf8.count { rename(new, path) }
    }
}
