// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

/// One who follows a unit: the handler, and the calls that wait for the unit to be read.
@EventLoop
final class UnitFollower {
    /// A call that waits.
    private struct Call {
        let continuation: CheckedContinuation<Void, Never>
        /// Whether the reading began after the call, so that it answers it.
        var isUnderWay = false
    }

    private var handler: (@EventLoop (UnitObservation) -> Void)?
    private var told: UnitObservation?
    private var calls: [UInt64: Call] = [:]
    private var callCount: UInt64 = 0

    init(_ handler: @escaping @EventLoop (UnitObservation) -> Void) { self.handler = handler }

    /// Ends it: the handler is let go and the calls return.
    func cancel() {
        handler = nil
        beginCalls()
        endCalls()
    }

    // MARK: What is told

    /// Tells what is known where it is not what was told last.
    func tell(_ observation: UnitObservation) {
        if observation != told { hand(observation) }
    }

    /// Tells what a reading came to, and ends the calls that waited for it.
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

    /// Has `ask` ask for a reading and waits for it; returns at once where the task or this is cancelled.
    ///
    /// - Parameter limit: after this time the handler is told that there was no answer. Where there can be no timer, the bus's own limits hold.
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

    /// Tells that there was no answer: what comes later is handed on, be it the same as before.
    func expire(_ number: UInt64) {
        guard calls[number] != nil else { return }
        hand(.unanswered)
        giveUp(number)
    }

    private func giveUp(_ number: UInt64) { calls.removeValue(forKey: number)?.continuation.resume() }

    /// A reading begins, which answers all calls up to now.
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
