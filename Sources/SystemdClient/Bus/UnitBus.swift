// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
public import Logging
import StatusSupport

/// Follows systemd units over one connection to the system bus, which lasts while one is followed.
///
/// A lost connection is replaced, with growing pauses. Meanwhile, followers are told that nothing is known.
@EventLoop
public final class UnitBus {
    /// The subject of log messages.
    private static let subject = "units"

    /// A followed unit or query: the last report about it, and its followers.
    struct Followed {
        var report: UnitReport?
        var followers: [UnitFollower] = []
    }

    private let address: String
    private let limits: ManagerWatch.Limits
    /// Logs when the connection is lost and when it works again.
    private let news: LogLimiter
    private(set) var subjects: [UnitSubject: Followed] = [:]
    /// The thread while a unit or query is followed.
    private var thread: UnitThread?
    /// Why nothing is known, until the connection works again.
    private var failure: String?
    /// How many readings have been requested.
    private var requests = 0

    /// Creates the bus, which connects when the first unit is followed.
    ///
    /// - Parameter logger: reports a lost connection.
    public convenience init(logger: Logger) { self.init(on: SystemBus.address, logger: logger) }

    init(on address: String, limits: ManagerWatch.Limits = .init(), logger: Logger) {
        self.address = address
        self.limits = limits
        news = LogLimiter(logger, .warning, burst: 2)
    }

    /// Follows a unit until the subscription is cancelled or released.
    ///
    /// - Parameters:
    ///   - unit: the unit's name or an alias of it, without a suffix that of a service; the unit need not exist yet.
    ///   - handler: called on the loop with what is known, never from within this call: as soon as it is known,
    ///     whenever it changes, and after each ``UnitSubscription/read(within:)``.
    public func follow(
        _ unit: String, handler: @escaping @EventLoop (UnitObservation) -> Void
    ) -> UnitSubscription {
        follow(.unit(UnitName.normalize(unit) ?? unit)) { report in
            if case .observation(let observation) = report { handler(observation) }
        }
    }

    /// Follows which units answer a query until the subscription is cancelled or released.
    ///
    /// A change is reported within 300 ms and the time that systemd takes to answer.
    ///
    /// - Parameter handler: called on the loop, as for a unit.
    package func follow(
        _ query: UnitQuery, handler: @escaping @EventLoop (UnitReport) -> Void
    ) -> UnitSubscription { follow(.query(query), handler: handler) }

    private func follow(
        _ subject: UnitSubject, handler: @escaping @EventLoop (UnitReport) -> Void
    ) -> UnitSubscription {
        let follower = UnitFollower(handler)
        let isNew = subjects[subject] == nil
        let known = failure.map { UnitReport.observation(.unreachable($0)) }
        subjects[subject, default: Followed(report: known)].followers.append(follower)
        if isNew { connect()?.read(subject) }
        answer(follower, of: subject, requests: 0)
        return UnitSubscription(self, subject, follower)
    }

    func remove(_ follower: UnitFollower, from subject: UnitSubject) {
        follower.cancel()
        subjects[subject]?.followers.removeAll { $0 === follower }
        guard subjects[subject]?.followers.isEmpty == true else { return }
        subjects[subject] = nil
        thread?.unfollow(subject)
        if subjects.isEmpty {
            thread?.end()
            thread = nil
            failure = nil
        }
    }

    /// Requests a reading of a unit or query for one of its followers; returns the request's number.
    func read(_ subject: UnitSubject, for follower: UnitFollower) -> Int {
        requests += 1
        let thread = connect()
        if failure == nil {
            thread?.read(subject, request: requests)
        } else {
            answer(follower, of: subject, requests: .max)
        }
        return requests
    }

    /// Reports what is known to a follower at the end of the turn, which answers its requests up to a number.
    private func answer(_ follower: UnitFollower, of subject: UnitSubject, requests: Int) {
        EventLoop.atEndOfTurn { [weak self] in
            if let report = self?.subjects[subject]?.report { follower.take(report, answers: requests) }
        }
    }

    // MARK: The thread

    /// Starts the thread if there is none; nil if that fails.
    private func connect() -> UnitThread? {
        if let thread { return thread }
        do throws(IOError) {
            let thread = try UnitThread(on: address, limits: limits) { [weak self] thread, report in
                // A former thread's reports no longer count.
                EventLoop.perform { if let self, self.thread === thread { self.take(report) } }
            }
            self.thread = thread
            for subject in subjects.keys { thread.read(subject) }
        } catch {
            // The next request tries again.
            EventLoop.atEndOfTurn { [weak self] in self?.take(.lost(error.message)) }
        }
        return thread
    }

    private func take(_ report: UnitThread.Report) {
        switch report {
        case .news(let subject, let report, let request): tell(subject, report, answers: request)
        case .works:
            if failure != nil { news.log("follows units again", about: Self.subject, level: .notice) }
            failure = nil
        case .lost(let reason):
            if failure == nil {
                news.log(
                    "cannot follow units: \(reason); trying again", about: Self.subject,
                    metadata: ["reason": "\(reason)"])
            }
            failure = reason
            for subject in subjects.keys { tell(subject, .observation(.unreachable(reason)), answers: .max) }
        }
    }

    private func tell(_ subject: UnitSubject, _ report: UnitReport, answers request: Int) {
        subjects[subject]?.report = report
        for follower in subjects[subject]?.followers ?? [] { follower.take(report, answers: request) }
    }
}
