// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusWorkers
import Synchronization

/// When time is up, sends an answer to the daemon and ends the process, whatever it is doing.
enum TimeLimit {
    /// Whether a handler may still answer: either the handler or `end()` clears it first, on any thread.
    private static let isRunning = Atomic(false)
    /// The bytes that the signal handlers write, encoded before: handlers may only call what is safe in them
    /// (signal-safety(7)).
    ///
    /// Unsafe, but changed only while no time is running, so no handler reads it then.
    private nonisolated(unsafe) static var answer = UnsafeMutableBufferPointer<UInt8>(start: nil, count: 0)
    /// The same for the processor time, and unsafe for the same reason.
    private nonisolated(unsafe) static var processorAnswer = UnsafeMutableBufferPointer<UInt8>(start: nil, count: 0)

    /// Starts the time.
    ///
    /// - Parameters:
    ///   - time: the time limit.
    ///   - outcome: the answer when it is exceeded.
    ///   - processorTime: the limit of processor time.
    ///   - processorOutcome: the answer when that is exceeded.
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

    /// Stops the time: there will be no answer.
    ///
    /// It does not return if a handler is about to answer, which ends the process.
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
