// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
public import Logging
import StatusSupport

/// Follows systemd units over one connection to the system bus, which lasts while a unit is followed.
///
/// A lost connection is replaced, with growing pauses. Meanwhile, followers are told that nothing is known.
@EventLoop
public final class UnitBus {
    /// The subject of log messages.
    private static let subject = "units"

    /// A followed unit: the last report about it, and its followers.
    struct Unit {
        var observation: UnitObservation?
        var followers: [UnitFollower] = []
    }

    private let address: String
    private let limits: ManagerWatch.Limits
    /// Logs when the connection is lost and when it works again.
    private let news: LogLimiter
    private(set) var units: [String: Unit] = [:]
    /// The thread while a unit is followed.
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
        let unit = UnitName.normalize(unit) ?? unit
        let follower = UnitFollower(handler)
        let isNew = units[unit] == nil
        units[unit, default: Unit(observation: failure.map { .unreachable($0) })].followers.append(follower)
        if isNew { connect()?.read(unit) }
        answer(follower, of: unit, requests: 0)
        return UnitSubscription(self, unit, follower)
    }

    func remove(_ follower: UnitFollower, from unit: String) {
        follower.cancel()
        units[unit]?.followers.removeAll { $0 === follower }
        guard units[unit]?.followers.isEmpty == true else { return }
        units[unit] = nil
        thread?.unfollow(unit)
        if units.isEmpty {
            thread?.end()
            thread = nil
            failure = nil
        }
    }

    /// Requests a reading of a unit for one of its followers; returns the request's number.
    func read(_ unit: String, for follower: UnitFollower) -> Int {
        requests += 1
        let thread = connect()
        if failure == nil { thread?.read(unit, request: requests) } else { answer(follower, of: unit, requests: .max) }
        return requests
    }

    /// Reports what is known to a follower at the end of the turn, which answers its requests up to a number.
    private func answer(_ follower: UnitFollower, of unit: String, requests: Int) {
        EventLoop.atEndOfTurn { [weak self] in
            if let observation = self?.units[unit]?.observation { follower.take(observation, answers: requests) }
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
            for unit in units.keys { thread.read(unit) }
        } catch {
            // The next request tries again.
            EventLoop.atEndOfTurn { [weak self] in self?.take(.lost(error.message)) }
        }
        return thread
    }

    private func take(_ report: UnitThread.Report) {
        switch report {
        case .unit(let unit, let observation, let request): tell(unit, observation, answers: request)
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
            for unit in units.keys { tell(unit, .unreachable(reason), answers: .max) }
        }
    }

    private func tell(_ unit: String, _ observation: UnitObservation, answers request: Int) {
        units[unit]?.observation = observation
        for follower in units[unit]?.followers ?? [] { follower.take(observation, answers: request) }
    }
}
