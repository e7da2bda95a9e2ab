// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc
import Synchronization

/// Closes descriptors whose closing may wait, on threads of its own.
///
/// A descriptor that another process sent may be a TCP socket with SO_LINGER: the last close(2) of it waits until its peer has read
/// everything, for as long as the sender likes. The last close of a Unix socket with such a descriptor in its queue blocks in the same way; that of a
/// pipe blocks while a writer holds its lock; and that of a file may have to dismantle a file system. A signal ends the wait for a
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

        /// The socket that received it; 0 for connections and sockets of this process, which may have such descriptors in their queues.
        var owner: UInt32 { foreign?.number ?? 0 }
    }

    private struct State {
        /// The entries by owner; the cost of one is the time its close takes, so slow ones do not delay those of other owners.
        var entries = FairQueue<Entry>(credit: DescriptorCloser.credit)
        /// Entries of owners that have reached their limit of workers.
        var held: [UInt32: [Entry]] = [:]
        /// The threads at work, and how many there are with those that are starting.
        var workers: [Int: Worker] = [:]
        var workerCount = 0
        var lastWorker = 0
        /// The number of workers that close a descriptor of each owner.
        var busy: [UInt32: Int] = [:]

        /// Takes the next entry of an owner that has not reached its limit of workers, and counts its worker.
        mutating func popFirst() -> Entry? {
            while let (entry, owner) = entries.popFirst() {
                let count = busy[owner, default: 0]
                if count < (owner == 0 ? maximumWorkersForOwn : maximumWorkersOfOwner) {
                    busy[owner] = count + 1
                    return entry
                }
                held[owner, default: []].append(entry)
            }
            return nil
        }

        /// Counts a worker of an owner as free again, after a close that took this long, in nanoseconds.
        mutating func note(_ nanoseconds: UInt64, by owner: UInt32) {
            let count = busy[owner, default: 1] - 1
            busy[owner] = count == 0 ? nil : count
            entries.charge(nanoseconds, to: owner)
            guard let entry = held[owner]?.popLast() else { return }
            if held[owner]?.isEmpty == true { held[owner] = nil }
            entries.append(entry, of: owner)
        }
    }

    private static let state = Mutex(State())
    /// On some file systems a signal does not end the wait, so several threads share the work, and no owner can block all of them.
    private static let maximumWorkers = 16
    private static let maximumWorkersOfOwner = 4
    private static let maximumWorkersForOwn = 8
    private static let credit: UInt64 = 50_000_000
    private static let patience = Duration.milliseconds(50)
    @EventLoop private static var guardTimer: TimerSource?
    @EventLoop private static var isGuarding = false
    @EventLoop private static var waiters: [@EventLoop () -> Void] = []

    /// Closes a descriptor soon, without waiting, and takes it out of those that it is one of.
    static func close(_ descriptor: Int32, of foreign: ForeignDescriptors? = nil) {
        let mustStart = state.withLock { state in
            let entry = Entry(descriptor: descriptor, foreign: foreign)
            state.entries.append(entry, of: entry.owner)
            // Busy workers may be stuck with descriptors of other owners.
            let mustStart =
                state.workerCount == 0 || state.busy[entry.owner] == nil && state.workerCount < maximumWorkers
            if mustStart { state.workerCount += 1 }
            return mustStart
        }
        guard mustStart else { return }
        BlockingThread.start(work)
        EventLoop.perform { scheduleGuard() }
    }

    /// Calls `body` after ``patience``, when some descriptors may have been closed.
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
            let share = TurnShare(patience)
            // Makes the close of a socket return at once. The sender may hold the socket's lock, so this may block, too.
            var none = linger()
            setsockopt(entry.descriptor, SOL_SOCKET, SO_LINGER, &none, socklen_t(MemoryLayout<linger>.size))
            Glibc.close(entry.descriptor)
            state.withLock { state in
                state.workers[worker]?.closed += 1
                state.note(share.nanosecondsTaken, by: entry.owner)
            }
            entry.foreign?.remove()
        }
    }

    private static func next(for worker: Int) -> Entry? {
        state.withLock { state in
            if let entry = state.popFirst() { return entry }
            state.workers[worker] = nil
            state.workerCount -= 1
            return nil
        }
    }

    // MARK: Guarding

    /// Starts the timer, unless it is running.
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

    /// Interrupts the workers that have closed nothing since the last look, and adds one if some descriptors wait.
    @EventLoop private static func interruptStuckWorkers() {
        let (areWorking, needsMore) = state.withLock { state in
            for (id, worker) in state.workers {
                // It is alive: only with this lock held does it leave the table.
                if worker.closed == worker.closedAtLastLook { pthread_kill(worker.thread, interruption) }
                state.workers[id]?.closedAtLastLook = worker.closed
            }
            let needsMore = !state.entries.isEmpty && state.workerCount < maximumWorkers
            if needsMore { state.workerCount += 1 }
            return (state.workerCount > 0, needsMore)
        }
        if needsMore { BlockingThread.start(work) }
        if areWorking { scheduleGuard() }
    }
}
