// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO

/// A subscription to a unit or a query, which ends when it is cancelled or released.
@EventLoop
public final class UnitSubscription {
    private let bus: UnitBus
    private let subject: UnitSubject
    private let follower: UnitFollower

    init(_ bus: UnitBus, _ subject: UnitSubject, _ follower: UnitFollower) {
        self.bus = bus
        self.subject = subject
        self.follower = follower
    }

    isolated deinit { cancel() }

    /// Ends the subscription and releases the handler; waiting calls of ``read(within:)`` return.
    public func cancel() { bus.remove(follower, from: subject) }

    /// Reads the unit again.
    ///
    /// It returns after the handler was called with the result or a timeout, or when the task is cancelled.
    ///
    /// - Parameter limit: how long the service manager may take to answer.
    public func read(within limit: Duration) async {
        await follower.wait(atMost: limit) { bus.read(subject, for: follower) }
    }
}

/// A follower of a unit or a query: its handler, and its calls that wait for the unit or the answer to be read.
@EventLoop
final class UnitFollower {
    private var handler: (@EventLoop (UnitReport) -> Void)?
    private var told: UnitReport?
    /// The waiting calls by the numbers of their requests.
    private var calls: [Int: @Sendable () -> Void] = [:]

    init(_ handler: @escaping @EventLoop (UnitReport) -> Void) { self.handler = handler }

    /// Releases the handler and ends the calls.
    func cancel() {
        handler = nil
        endCalls(upTo: .max)
    }

    /// Passes a report on, unless it equals the last one and answers no call.
    ///
    /// The calls whose requests have numbers up to `request` end.
    func take(_ report: UnitReport, answers request: Int) {
        if report != told || calls.keys.contains(where: { $0 <= request }) { tell(report) }
        endCalls(upTo: request)
    }

    private func tell(_ report: UnitReport) {
        told = report
        // The handler may cancel the subscription.
        let handler = handler
        handler?(report)
    }

    /// Requests a reading by `ask` and waits for it; returns at once if the task or the follower is cancelled.
    ///
    /// - Parameters:
    ///   - limit: the time after which the handler is told that there was no answer. The next report is then
    ///     passed on even if it equals the one before.
    ///   - ask: returns the number of the request.
    func wait(atMost limit: Duration, _ ask: () -> Int) async {
        guard handler != nil else { return }
        let request = ask()
        await TimedWait<Void>.run(within: limit) { end in calls[request] = { end(()) } }
        if calls.removeValue(forKey: request) != nil, !Task.isCancelled { tell(.observation(.unanswered)) }
    }

    private func endCalls(upTo request: Int) {
        for number in calls.keys where number <= request { calls.removeValue(forKey: number)?() }
    }
}
