// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc
import Synchronization

/// Closes descriptors whose closing may wait, on threads of its own.
///
/// A descriptor that another process sent may be a TCP socket with SO_LINGER: the last close(2) of it waits until its peer has read
/// everything, for as long as the sender likes. So does the last close of a Unix socket in whose queue such a descriptor is. A signal ends
/// that wait, so a close that takes longer than ``patience`` is interrupted.
enum DescriptorCloser {
    private struct Worker {
        let thread: pthread_t
        /// How many descriptors it has closed, now and when it was last looked at.
        var closed = 0
        var closedAtLastLook = 0
    }

    private struct State {
        var descriptors: [Int32] = []
        /// The threads at work, and how many there are with those that are starting.
        var workers: [Int: Worker] = [:]
        var workerCount = 0
        var lastWorker = 0
    }

    private static let state = Mutex(State())
    /// Some file systems do not let a signal end the wait, so one stuck thread must not hold up all other descriptors.
    private static let maximumWorkers = 4
    private static let patience = Duration.milliseconds(50)
    @EventLoop private static var guardTimer: TimerSource?

    /// Closes a descriptor soon, without waiting.
    static func close(_ descriptor: Int32) {
        // A socket that nobody else has is closed at once by this.
        var none = linger()
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &none, socklen_t(MemoryLayout<linger>.size))
        let mustStart = state.withLock { state in
            state.descriptors.append(descriptor)
            guard state.workerCount == 0 else { return false }
            state.workerCount = 1
            return true
        }
        guard mustStart else { return }
        BlockingThread.start(work)
        EventLoop.perform { scheduleGuard() }
    }

    /// A worker's whole life: it ends when nothing is left to close.
    @Sendable private static func work() {
        let worker = state.withLock { state in
            state.lastWorker += 1
            state.workers[state.lastWorker] = Worker(thread: pthread_self())
            return state.lastWorker
        }
        while let descriptor = next(for: worker) {
            Glibc.close(descriptor)
            state.withLock { $0.workers[worker]?.closed += 1 }
        }
    }

    private static func next(for worker: Int) -> Int32? {
        state.withLock { state in
            if let descriptor = state.descriptors.popLast() { return descriptor }
            state.workers[worker] = nil
            state.workerCount -= 1
            return nil
        }
    }

    // MARK: Guarding

    @EventLoop private static func scheduleGuard() {
        if guardTimer == nil {
            handleInterruptions()
            guardTimer = try? TimerSource { interruptStuckWorkers() }
        }
        guardTimer?.schedule(after: patience)
    }

    /// Interrupts the workers that have closed nothing since the last look; if that does not help any of them, there is one more.
    @EventLoop private static func interruptStuckWorkers() {
        let (areWorking, needsMore) = state.withLock { state in
            var stuck = 0
            for (id, worker) in state.workers {
                if worker.closed == worker.closedAtLastLook {
                    // It is alive: only with this lock held does it leave the table.
                    pthread_kill(worker.thread, interruption)
                    stuck += 1
                }
                state.workers[id]?.closedAtLastLook = worker.closed
            }
            let needsMore =
                stuck == state.workerCount && !state.descriptors.isEmpty && state.workerCount < maximumWorkers
            if needsMore { state.workerCount += 1 }
            return (state.workerCount > 0, needsMore)
        }
        if needsMore { BlockingThread.start(work) }
        if areWorking { scheduleGuard() }
    }
}
