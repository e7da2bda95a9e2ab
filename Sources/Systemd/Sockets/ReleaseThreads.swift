// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc
import Synchronization

/// Threads for system calls that release what other processes have sent, which may wait.
///
/// A descriptor in the queue of a Unix socket may be a TCP socket with SO_LINGER: its release waits until its peer has read
/// everything, for as long as the sender likes. That of a pipe waits while a writer holds its lock, and that of a file may have to dismantle a
/// file system. A signal ends the wait for a TCP socket, so a call that takes longer than ``patience`` is interrupted.
final class ReleaseThreads: Sendable {
    private struct Worker {
        let thread: pthread_t
        /// How many calls it has made, now and when it was last looked at.
        var finished = 0
        var finishedAtLastLook = 0
    }

    private struct State {
        /// The calls by owner; the cost of one is the time it takes, so slow ones do not delay those of other owners.
        var calls = FairQueue<@Sendable () -> Void>(credit: ReleaseThreads.credit)
        var callCount = 0
        /// The threads at work, and how many there are with those that are starting.
        var workers: [Int: Worker] = [:]
        var workerCount = 0
        var lastWorker = 0
        /// How many of them are making a call.
        var busyCount = 0
        /// How many looks ago a call ended last.
        var idleLooks = 0

        /// Whether a call waits that no idle worker will make.
        var needsWorker: Bool { callCount > workerCount - busyCount }
    }

    /// Closes connections with something unread.
    ///
    /// Anybody may have sent it, so these threads are not those of ``datagrams``.
    static let connections = ReleaseThreads()
    /// Receives datagrams without their descriptors, each socket as an owner, and closes such sockets.
    static let datagrams = ReleaseThreads()

    private static let credit: UInt64 = 50_000_000
    private static let patience = Duration.milliseconds(2)
    /// If no call ends for so many looks, the threads wait for what no signal ends.
    private static let patienceInLooks = 5
    /// The most threads.
    ///
    /// So many, and so impatient, that hardly anybody sends faster what has to be closed. And a signal does not end every wait.
    private static let limit = 64

    private let state = Mutex(State())
    @EventLoop private var guardTimer: TimerSource?
    @EventLoop private var isGuarding = false

    /// Whether more calls wait than there may be threads, which soon will have made them.
    var isBehind: Bool { state.withLock { $0.callCount > Self.limit && $0.idleLooks < Self.patienceInLooks } }

    /// How many calls wait or are being made.
    var count: Int { state.withLock { $0.callCount + $0.busyCount } }

    /// Makes a call soon, without waiting for it.
    func perform(for owner: UInt32 = 0, _ call: @escaping @Sendable () -> Void) {
        let mustStart = state.withLock { state in
            state.calls.append(call, of: owner)
            state.callCount += 1
            let mustStart = state.needsWorker && state.workerCount < Self.limit
            if mustStart { state.workerCount += 1 }
            return mustStart
        }
        guard mustStart else { return }
        BlockingThread.start(work)
        EventLoop.perform { self.scheduleGuard() }
    }

    /// A worker's whole life: it ends when nothing is left to do.
    @Sendable private func work() {
        let worker = state.withLock { state in
            state.lastWorker += 1
            state.workers[state.lastWorker] = Worker(thread: pthread_self())
            return state.lastWorker
        }
        while let (call, owner) = next(for: worker) {
            let share = TurnShare(Self.patience)
            call()
            state.withLock { state in
                state.workers[worker]?.finished += 1
                state.busyCount -= 1
                state.calls.charge(share.nanosecondsTaken, to: owner)
            }
        }
    }

    private func next(for worker: Int) -> (@Sendable () -> Void, owner: UInt32)? {
        state.withLock { state in
            guard let (call, owner) = state.calls.popFirst() else {
                state.workers[worker] = nil
                state.workerCount -= 1
                return nil
            }
            state.callCount -= 1
            state.busyCount += 1
            return (call, owner)
        }
    }

    // MARK: Guarding

    /// Starts the timer, unless it is running.
    @EventLoop private func scheduleGuard() {
        if guardTimer == nil {
            handleInterruptions()
            guardTimer = try? TimerSource { self.look() }
        }
        guard !isGuarding, let guardTimer else { return }
        isGuarding = true
        guardTimer.schedule(after: Self.patience)
    }

    /// Interrupts the workers that have finished nothing since the last look, and goes on looking while there are workers.
    @EventLoop private func look() {
        isGuarding = false
        let areWorking = state.withLock { state in
            let isIdle = state.workers.values.allSatisfy { $0.finished == $0.finishedAtLastLook }
            state.idleLooks = isIdle && !state.workers.isEmpty ? state.idleLooks + 1 : 0
            for (id, worker) in state.workers {
                // It is alive: only with this lock held does it leave the table.
                if worker.finished == worker.finishedAtLastLook { pthread_kill(worker.thread, interruption) }
                state.workers[id]?.finishedAtLastLook = worker.finished
            }
            return state.workerCount > 0
        }
        if areWorking { scheduleGuard() }
    }
}
