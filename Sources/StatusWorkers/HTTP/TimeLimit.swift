// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Synchronization

/// Sends an answer to the daemon and ends the process when a time limit is exceeded.
enum TimeLimit {
    /// Whether a time limit is active; a signal handler or `end()` clears it, on any thread, whichever is first.
    private static let isRunning = Atomic(false)
    /// The answer after the time limit, encoded in advance, because signal handlers must not encode (signal-safety(7)).
    ///
    /// Unsafe, but changed only while no limit is active, so no handler reads it then.
    private nonisolated(unsafe) static var answer = UnsafeMutableBufferPointer<UInt8>(start: nil, count: 0)
    /// The answer after the limit of processor time; unsafe for the same reason.
    private nonisolated(unsafe) static var processorAnswer = UnsafeMutableBufferPointer<UInt8>(start: nil, count: 0)

    /// Starts the limits.
    ///
    /// - Parameters:
    ///   - time: the time limit.
    ///   - outcome: the answer if the time limit is exceeded.
    ///   - processorTime: the limit of processor time.
    ///   - processorOutcome: the answer if the limit of processor time is exceeded.
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

    /// Ends the limits.
    ///
    /// It does not return if a handler is already answering, because that ends the process.
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
