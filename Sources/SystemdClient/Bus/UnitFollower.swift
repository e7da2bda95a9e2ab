// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

/// A follower of a unit: its handler, and its calls that wait for the unit to be read.
@EventLoop
final class UnitFollower {
    /// A waiting call.
    private struct Call {
        let continuation: CheckedContinuation<Void, Never>
        /// Whether a reading that began after the call is under way.
        var isUnderWay = false
    }

    private var handler: (@EventLoop (UnitObservation) -> Void)?
    private var told: UnitObservation?
    private var calls: [UInt64: Call] = [:]
    private var callCount: UInt64 = 0

    init(_ handler: @escaping @EventLoop (UnitObservation) -> Void) { self.handler = handler }

    /// Releases the handler and ends the calls.
    func cancel() {
        handler = nil
        beginCalls()
        endCalls()
    }

    // MARK: Reports

    /// Tells what is known, unless it was told last.
    func tell(_ observation: UnitObservation) {
        if observation != told { hand(observation) }
    }

    /// Tells the result of a reading, and ends the calls that waited for it.
    func answer(_ observation: UnitObservation) {
        if observation != told || calls.values.contains(where: \.isUnderWay) { hand(observation) }
        endCalls()
    }

    private func hand(_ observation: UnitObservation) {
        told = observation
        let handler = handler
        handler?(observation)
    }

    // MARK: Calls

    /// Requests a reading by `ask` and waits for it; returns at once if the task or the follower is cancelled.
    ///
    /// - Parameter limit: the time after which the handler is told that there was no answer. If there can be no timer,
    ///   the bus's own limits apply.
    func wait(atMost limit: Duration, _ ask: () -> Void) async {
        callCount += 1
        let number = callCount
        let timer = try? TimerSource(clock: .boottime) { [weak self] in self?.expire(number) }
        defer { timer?.cancel() }
        timer?.schedule(after: limit)
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard handler != nil, !Task.isCancelled else { return continuation.resume() }
                calls[number] = Call(continuation: continuation)
                ask()
            }
        } onCancel: {
            EventLoop.perform { self.giveUp(number) }
        }
    }

    /// Tells that there was no answer.
    ///
    /// The next observation is passed on even if it equals the one before the timeout.
    func expire(_ number: UInt64) {
        guard calls[number] != nil else { return }
        hand(.unanswered)
        giveUp(number)
    }

    private func giveUp(_ number: UInt64) { calls.removeValue(forKey: number)?.continuation.resume() }

    /// A reading begins, which will answer all present calls.
    func beginCalls() {
        for number in calls.keys { calls[number]?.isUnderWay = true }
    }

    private func endCalls() {
        for (number, call) in calls where call.isUnderWay {
            calls[number] = nil
            call.continuation.resume()
        }
    }
}
