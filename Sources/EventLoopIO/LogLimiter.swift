// SPDX-License-Identifier: Apache-2.0

package import Logging

/// Limits log messages that other processes can cause.
///
/// It logs the first messages about a subject at once and holds the others back. At the end of an interval it logs the
/// newest of these with their number.
@EventLoop
package final class LogLimiter {
    private struct Subject {
        /// How many messages were logged in this interval.
        var logged = 0
        /// How many messages were held back since then; the newest is kept.
        var count = 0
        var level: Logger.Level
        var message: Logger.Message
        var metadata: Logger.Metadata
    }

    /// Messages about further subjects are counted together.
    private static let maximumSubjects = 64
    private static let others = "others"

    /// The limiters that hold messages back.
    private static var active: [ObjectIdentifier: LogLimiter] = [:]

    private let logger: Logger
    private let level: Logger.Level
    private let burst: Int
    private let interval: Duration
    private var timer: TimerSource?
    private var subjects: [String: Subject] = [:]

    /// Creates a limiter.
    ///
    /// - Parameters:
    ///   - logger: where messages are logged.
    ///   - level: the default level.
    ///   - burst: how many messages about a subject are logged in an interval.
    ///   - interval: the length of an interval.
    package init(_ logger: Logger, _ level: Logger.Level, burst: Int = 1, interval: Duration = .seconds(30)) {
        self.logger = logger
        self.level = level
        self.burst = burst
        self.interval = interval
    }

    /// Logs a message about a subject, such as a user, or counts it if there were enough in this interval.
    ///
    /// - Returns: whether it was logged now.
    @discardableResult
    package func log(
        _ message: Logger.Message, about subject: String, level: Logger.Level? = nil, metadata: Logger.Metadata = [:]
    ) -> Bool {
        let level = level ?? self.level
        if subjects.isEmpty { schedule() }
        // Without a timer, held-back messages would never be logged.
        guard timer != nil else {
            logger.log(level: level, message, metadata: metadata)
            return true
        }
        let key = subjects[subject] != nil || subjects.count < Self.maximumSubjects ? subject : Self.others
        var known = subjects[key] ?? Subject(level: level, message: message, metadata: metadata)
        (known.level, known.message, known.metadata) = (level, message, metadata)
        defer { subjects[key] = known }
        guard known.logged < burst else {
            known.count += 1
            return false
        }
        known.logged += 1
        logger.log(level: level, message, metadata: metadata)
        return true
    }

    /// Drops the count of a subject, because its cause has gone.
    package func forget(_ subject: String) { subjects[subject]?.count = 0 }

    private func schedule() {
        Self.active[ObjectIdentifier(self)] = self
        if timer == nil { timer = try? TimerSource(accuracy: .seconds(1)) { [weak self] in self?.logRepetitions() } }
        timer?.schedule(after: interval)
    }

    /// Logs the held-back messages at the end of an interval, and forgets subjects without new ones.
    func logRepetitions() {
        for (key, subject) in subjects.sorted(by: { $0.key < $1.key }) {
            guard subject.count > 0 else {
                subjects[key] = nil
                continue
            }
            log(subject)
            subjects[key]?.count = 0
            subjects[key]?.logged = 1
        }
        if subjects.isEmpty { Self.active[ObjectIdentifier(self)] = nil } else { schedule() }
    }

    private func log(_ subject: Subject) {
        var metadata = subject.metadata
        metadata["repeated"] = "\(subject.count)"
        let others = subject.count - 1
        let messages = others == 1 ? "message" : "messages"
        let more = others == 0 ? "" : "and \(others) more such \(messages) "
        let rest = " (\(more)in the last \(interval.text))"
        logger.log(level: subject.level, "\(subject.message)\(rest)", metadata: metadata)
    }

    /// Logs the held-back messages of all limiters, because the process is ending.
    package static func logAllRepetitions() {
        for limiter in active.values { limiter.logRepetitions() }
    }
}
