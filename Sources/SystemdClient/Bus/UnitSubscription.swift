// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO

/// A subscription to a unit, which ends when it is cancelled or released.
@EventLoop
public final class UnitSubscription {
    private let bus: UnitBus
    private let unit: String
    private let follower: UnitFollower

    init(_ bus: UnitBus, _ unit: String, _ follower: UnitFollower) {
        self.bus = bus
        self.unit = unit
        self.follower = follower
    }

    isolated deinit { cancel() }

    /// Ends the subscription and releases the handler; waiting calls of ``read(within:)`` return.
    public func cancel() { bus.remove(follower, from: unit) }

    /// Reads the unit again.
    ///
    /// It returns after the handler was called with the result or a timeout, or when the task is cancelled.
    ///
    /// - Parameter limit: how long the service manager may take to answer.
    public func read(within limit: Duration) async {
        await follower.wait(atMost: limit) { bus.read(unit, for: follower) }
    }
}

/// A follower of a unit: its handler, and its calls that wait for the unit to be read.
@EventLoop
final class UnitFollower {
    private var handler: (@EventLoop (UnitObservation) -> Void)?
    private var told: UnitObservation?
    /// The waiting calls by the numbers of their requests.
    private var calls: [Int: @Sendable () -> Void] = [:]

    init(_ handler: @escaping @EventLoop (UnitObservation) -> Void) { self.handler = handler }

    /// Releases the handler and ends the calls.
    func cancel() {
        handler = nil
        endCalls(upTo: .max)
    }

    /// Reports an observation, unless it equals the last one and answers no call.
    ///
    /// The calls whose requests have numbers up to `request` end.
    func take(_ observation: UnitObservation, answers request: Int) {
        if observation != told || calls.keys.contains(where: { $0 <= request }) { tell(observation) }
        endCalls(upTo: request)
    }

    private func tell(_ observation: UnitObservation) {
        told = observation
        // The handler may cancel the subscription.
        let handler = handler
        handler?(observation)
    }

    /// Requests a reading by `ask` and waits for it; returns at once if the task or the follower is cancelled.
    ///
    /// - Parameters:
    ///   - limit: the time after which the handler is told that there was no answer. The next observation is then
    ///     passed on even if it equals the one before.
    ///   - ask: returns the number of the request.
    func wait(atMost limit: Duration, _ ask: () -> Int) async {
        guard handler != nil else { return }
        let request = ask()
        await TimedWait<Void>.run(within: limit) { end in calls[request] = { end(()) } }
        if calls.removeValue(forKey: request) != nil, !Task.isCancelled { tell(.unanswered) }
    }

    private func endCalls(upTo request: Int) {
        for number in calls.keys where number <= request { calls.removeValue(forKey: number)?() }
    }
}
