// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusWorkers
import Synchronization

/// Ends this process in the middle of whatever it does, with an answer to the daemon, when the time for that is over.
enum TimeLimit {
    /// Whether a handler may still answer: it, or whoever ends the time, is the first to clear it, on whatever threads they run.
    private static let isRunning = Atomic(false)
    /// What the signal handlers write, made before: they may only call what is safe in them (signal-safety(7)).
    ///
    /// Unsafe: changed only as long as no time runs, so that no handler reads it meanwhile.
    private nonisolated(unsafe) static var answer = UnsafeMutableBufferPointer<UInt8>(start: nil, count: 0)
    /// The same, for the processor time; unsafe for the same reason.
    private nonisolated(unsafe) static var processorAnswer = UnsafeMutableBufferPointer<UInt8>(start: nil, count: 0)

    /// Begins to count.
    ///
    /// - Parameters:
    ///   - time: how long it may take.
    ///   - outcome: what is answered when that is over.
    ///   - processorTime: how much processor time it may take.
    ///   - processorOutcome: what is answered when that is used up.
    static func begin(
        _ time: Duration, _ outcome: HTTPOutcome, processorTime: Duration, _ processorOutcome: HTTPOutcome
    ) {
        set(&answer, outcome)
        set(&processorAnswer, processorOutcome)
        signal(SIGALRM) { _ in TimeLimit.end(with: TimeLimit.answer) }
        signal(SIGPROF) { _ in TimeLimit.end(with: TimeLimit.processorAnswer) }
        isRunning.store(true, ordering: .sequentiallyConsistent)
        start(ITIMER_REAL, time)
        start(ITIMER_PROF, processorTime)
    }

    /// Counts no more: nothing is answered from now on.
    ///
    /// Does not return if a handler is about to answer, which ends the process.
    static func end() {
        while !isRunning.exchange(false, ordering: .sequentiallyConsistent) { pause() }
        start(ITIMER_REAL, .zero)
        start(ITIMER_PROF, .zero)
    }

    private static func end(with answer: UnsafeMutableBufferPointer<UInt8>) {
        guard isRunning.exchange(false, ordering: .sequentiallyConsistent) else { return }
        write(STDIN_FILENO, answer.baseAddress, answer.count)
        _exit(0)
    }

    private static func set(_ buffer: inout UnsafeMutableBufferPointer<UInt8>, _ outcome: HTTPOutcome) {
        let bytes = WorkerMessage.encode(outcome)
        buffer.deallocate()
        buffer = .allocate(capacity: bytes.count)
        _ = buffer.initialize(from: bytes)
    }

    private static func start(_ kind: __itimer_which, _ time: Duration) {
        var timer = itimerval()
        timer.it_value.tv_sec = Int(time.components.seconds)
        timer.it_value.tv_usec = Int(time.components.attoseconds / 1_000_000_000_000)
        setitimer(__itimer_which_t(kind.rawValue), &timer, nil)
    }
}
