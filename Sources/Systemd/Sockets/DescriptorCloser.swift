// SPDX-License-Identifier: Apache-2.0

import CSystemd
import DequeModule
import Glibc
import Synchronization

/// Closes descriptors whose closing may wait, on threads of its own.
///
/// A descriptor that another process sent may be a TCP socket with SO_LINGER: the last close(2) of it waits until its peer has read
/// everything, for as long as the sender likes. So does the last close of a Unix socket in whose queue such a descriptor is, that of a pipe to which
/// somebody writes what does not come, and that of a file takes as long as it takes to take its file system apart. A signal ends the wait for a
/// socket, so a close that takes longer than ``patience`` is interrupted.
enum DescriptorCloser {
    private struct Worker {
        let thread: pthread_t
        /// How many descriptors it has closed, now and when it was last looked at.
        var closed = 0
        var closedAtLastLook = 0
    }

    private struct Entry {
        let descriptor: Int32
        let foreign: ForeignDescriptors?

        /// Whom it came from: a socket, or none.
        var owner: ObjectIdentifier? { foreign.map(ObjectIdentifier.init) }
    }

    private struct State {
        /// In the order in which they came.
        var entries: Deque<Entry> = []
        /// The threads at work, and how many there are with those that are starting.
        var workers: [Int: Worker] = [:]
        var workerCount = 0
        var lastWorker = 0
        /// How many workers close something of each owner.
        var busy: [ObjectIdentifier?: Int] = [:]

        /// The first one whose owner does not keep too many workers busy.
        var next: Int? { entries.firstIndex { busy[$0.owner, default: 0] < maximumWorkersOfOwner } }
    }

    private static let state = Mutex(State())
    /// Some file systems do not let a signal end the wait, so stuck threads must not hold up all other descriptors.
    private static let maximumWorkers = 16
    private static let maximumWorkersOfOwner = 4
    private static let patience = Duration.milliseconds(50)
    @EventLoop private static var guardTimer: TimerSource?
    @EventLoop private static var isGuarding = false
    @EventLoop private static var waiters: [@EventLoop () -> Void] = []

    /// Closes a descriptor soon, without waiting, and takes it out of those that it is one of.
    static func close(_ descriptor: Int32, of foreign: ForeignDescriptors? = nil) {
        let mustStart = state.withLock { state in
            state.entries.append(Entry(descriptor: descriptor, foreign: foreign))
            guard state.workerCount == 0 else { return false }
            state.workerCount = 1
            return true
        }
        guard mustStart else { return }
        BlockingThread.start(work)
        EventLoop.perform { scheduleGuard() }
    }

    /// Calls `body` in a moment, when some descriptors may have been closed.
    @EventLoop static func whenSomeMayBeClosed(_ body: @escaping @EventLoop () -> Void) {
        waiters.append(body)
        scheduleGuard()
    }

    /// A worker's whole life: it ends when nothing is left to close.
    @Sendable private static func work() {
        let worker = state.withLock { state in
            state.lastWorker += 1
            state.workers[state.lastWorker] = Worker(thread: pthread_self())
            return state.lastWorker
        }
        while let entry = next(for: worker) {
            // A socket that nobody else has is closed at once by this. Its owner may keep it locked, and this waiting.
            var none = linger()
            setsockopt(entry.descriptor, SOL_SOCKET, SO_LINGER, &none, socklen_t(MemoryLayout<linger>.size))
            Glibc.close(entry.descriptor)
            state.withLock { state in
                state.workers[worker]?.closed += 1
                let busy = state.busy[entry.owner, default: 1] - 1
                state.busy[entry.owner] = busy == 0 ? nil : busy
            }
            entry.foreign?.remove()
        }
    }

    private static func next(for worker: Int) -> Entry? {
        state.withLock { state in
            if let index = state.next {
                let entry = state.entries.remove(at: index)
                state.busy[entry.owner, default: 0] += 1
                return entry
            }
            state.workers[worker] = nil
            state.workerCount -= 1
            return nil
        }
    }

    // MARK: Guarding

    /// Looks in a moment; not later because it is asked to again.
    @EventLoop private static func scheduleGuard() {
        if guardTimer == nil {
            handleInterruptions()
            guardTimer = try? TimerSource { look() }
        }
        guard !isGuarding, let guardTimer else { return }
        isGuarding = true
        guardTimer.schedule(after: patience)
    }

    @EventLoop private static func look() {
        isGuarding = false
        interruptStuckWorkers()
        let bodies = waiters
        waiters = []
        for body in bodies { body() }
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
                stuck == state.workerCount && state.next != nil && state.workerCount < maximumWorkers
            if needsMore { state.workerCount += 1 }
            return (state.workerCount > 0, needsMore)
        }
        if needsMore { BlockingThread.start(work) }
        if areWorking { scheduleGuard() }
    }
}
