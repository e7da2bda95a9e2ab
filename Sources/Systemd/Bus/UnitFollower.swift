// SPDX-License-Identifier: Apache-2.0

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
    func wait(_ ask: () -> Void) async {
        callCount += 1
        let number = callCount
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

    /// Who waited may have told others that nothing is known: what comes is handed on, be it the same as before.
    private func giveUp(_ number: UInt64) {
        guard let call = calls.removeValue(forKey: number) else { return }
        told = nil
        call.continuation.resume()
    }

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
