// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Synchronization

/// Threads for system calls that other processes can make slow.
///
/// The queue of a Unix socket may contain a descriptor of a TCP socket with SO_LINGER. Its release waits until its peer has read
/// everything, for as long as the sender likes. A pipe's release waits while a writer holds its lock, and a file's may have to dismantle a
/// file system. A signal ends the wait for a TCP socket, so a call that takes longer than ``patience`` is interrupted. A socket may also be
/// watched so often that a call on its peer takes much processor time (``ForeignSocket``).
final class SystemCallThreads: Sendable {
    /// When to start another thread.
    enum Growth {
        /// If a call waits for a thread.
        case withCalls
        /// If a call waits for a thread and all threads sleep in their calls.
        ///
        /// More threads for calls that use the processor would only take it from the loop.
        case withSleepers
    }

    private struct Worker {
        let thread: pthread_t
        var isBusy = false
        /// The number of its finished calls, now and at the last look; nil if it was idle then.
        var finished = 0
        var finishedAtLastLook: Int?
        /// The processor time that it had taken at the last look, in nanoseconds.
        var processorTimeAtLastLook: UInt64 = 0
        /// How many looks in a row found it in the same call, using hardly any processor time.
        var asleepLooks = 0

        var isAsleep: Bool { asleepLooks >= SystemCallThreads.patienceInLooks }

        /// Whether it has made the same call since the last look.
        var isStuck: Bool { isBusy && finished == finishedAtLastLook }

        var processorTime: UInt64 {
            var clock = clockid_t()
            return pthread_getcpuclockid(thread, &clock) == 0 ? nanoseconds(of: clock) : 0
        }
    }

    private struct State {
        var calls = SystemCallQueue()
        /// The threads, and their number including those that are starting.
        var workers: [Int: Worker] = [:]
        var workerCount = 0
        var lastWorker = 0
        /// The number of threads that make a call, and of those that have slept in it for a while.
        var busyCount = 0
        var asleepCount = 0
        /// The number of threads that wait for a call and have not been woken.
        var idleCount = 0
        var isGuarded = false
        /// The number of looks since a call ended.
        var idleLooks = 0

        /// The number of threads that are starting, have been woken, or have just finished a call: these take waiting calls.
        var comingCount: Int { workerCount - busyCount - idleCount }
    }

    /// Sends to, receives from and closes connections of ordinary users.
    static let peers = SystemCallThreads(limit: 8, .withSleepers)
    /// Closes connections with unread input, which may contain descriptors.
    ///
    /// Any user may have sent them, so these threads are not shared with ``datagrams``.
    static let connections = SystemCallThreads(limit: 64, .withCalls)
    /// Closes descriptors that other processes have sent and this one has received, as many as it likes.
    static let descriptors = SystemCallThreads(limit: 64, .withSleepers)
    /// Receives datagrams without their descriptors, with a socket as owner, and closes such sockets.
    static let datagrams = SystemCallThreads(limit: 64, .withCalls)

    private static let patience = Duration.milliseconds(2)
    /// If no call ends for so many looks, the threads wait for something that no signal ends.
    private static let patienceInLooks = 5
    /// A thread that takes more processor time between two looks does not sleep, in nanoseconds.
    private static let muchProcessorTime: UInt64 = 100_000
    /// The maximum number of threads.
    ///
    /// If calls may sleep, there are so many threads, interrupted so soon, that hardly any sender is faster. And a signal does not end
    /// every wait.
    private let limit: Int
    private let growth: Growth
    /// How long a thread waits for its next call, in seconds.
    private let lingering: Int
    private let state = Mutex(State())
    private let wakeUps = Semaphore()
    @EventLoop private var guardTimer: TimerSource?

    init(limit: Int, _ growth: Growth, lingering: Int = 1) {
        self.limit = limit
        self.growth = growth
        self.lingering = lingering
    }

    /// Whether more calls wait than there can be threads, and calls are ending.
    var isBehind: Bool { state.withLock { $0.calls.count > limit && $0.idleLooks < Self.patienceInLooks } }

    /// The number of calls being made.
    var busyCount: Int { state.withLock { $0.busyCount } }

    /// The number of calls that wait or are being made.
    var count: Int { state.withLock { $0.calls.count + $0.busyCount } }

    /// Makes a call soon, without waiting for it.
    ///
    /// - Parameters:
    ///   - owner: whose calls these are; the long calls of the owner that has taken least come first.
    ///   - isMuch: whether it will take long, so that short calls come first (``SystemCallQueue``).
    func perform(for owner: UInt32 = 0, isMuch: Bool = false, _ call: @escaping @Sendable () -> Void) {
        let (mustWake, mustStart, mustGuard) = state.withLock { state in
            state.calls.append(call, of: owner, isMuch: isMuch)
            let mustGuard = !state.isGuarded
            state.isGuarded = true
            let (mustWake, mustStart) = getWorker(&state)
            return (mustWake, mustStart, mustGuard)
        }
        if mustWake { wakeUps.signal() }
        if mustStart { BlockingThread.start(work) }
        if mustGuard { EventLoop.perform { self.startGuarding() } }
    }

    /// Reserves an idle or a new thread for a waiting call, unless a thread that is coming takes it.
    private func getWorker(_ state: inout State) -> (mustWake: Bool, mustStart: Bool) {
        let mayCome = growth == .withCalls || state.comingCount == 0
        guard mayWork(state), mayCome, state.calls.count > state.comingCount else { return (false, false) }
        if state.idleCount > 0 {
            state.idleCount -= 1
            return (true, false)
        }
        guard state.workerCount < limit else { return (false, false) }
        state.workerCount += 1
        return (false, true)
    }

    /// Whether another thread may make a call beside the busy ones.
    private func mayWork(_ state: State) -> Bool {
        growth == .withCalls || state.busyCount == state.asleepCount
    }

    // MARK: Workers

    /// Runs a worker, which ends after it has been idle for a while.
    @Sendable private func work() {
        let worker = state.withLock { state in
            state.lastWorker += 1
            state.workers[state.lastWorker] = Worker(thread: pthread_self())
            return state.lastWorker
        }
        while true {
            while let next = next(for: worker) {
                let (share, begin) = (TurnShare(Self.patience), nanoseconds(of: CLOCK_THREAD_CPUTIME_ID))
                next.call()
                // The call may have waited for a processor, which says nothing about the next one.
                let processorTime = nanoseconds(of: CLOCK_THREAD_CPUTIME_ID) - begin
                state.withLock { state in
                    Self.noteEnd(of: worker, &state)
                    state.calls.charge(share.nanosecondsTaken, processorTime: processorTime, for: next)
                }
            }
            guard mayWait() else { continue }
            if !wakeUps.wait(seconds: lingering) {
                if mayEnd(worker) { return }
                // Another thread has reserved all idle workers, including this one.
                wakeUps.wait()
            }
        }
    }

    private func next(for worker: Int) -> SystemCallQueue.Taken? {
        state.withLock { state in
            guard mayWork(state), let next = state.calls.popFirst() else { return nil }
            state.busyCount += 1
            state.workers[worker]?.isBusy = true
            return next
        }
    }

    private static func noteEnd(of worker: Int, _ state: inout State) {
        state.busyCount -= 1
        if state.workers[worker]?.isAsleep == true { state.asleepCount -= 1 }
        state.workers[worker]?.isBusy = false
        state.workers[worker]?.finished += 1
        state.workers[worker]?.asleepLooks = 0
    }

    /// Whether a worker has nothing to do; it then counts as idle.
    private func mayWait() -> Bool {
        state.withLock { state in
            guard state.calls.count == 0 || !mayWork(state) else { return false }
            state.idleCount += 1
            return true
        }
    }

    /// Whether an idle worker may end; not if another thread has just reserved it.
    private func mayEnd(_ worker: Int) -> Bool {
        state.withLock { state in
            guard state.idleCount > 0 else { return false }
            state.idleCount -= 1
            state.workers[worker] = nil
            state.workerCount -= 1
            return true
        }
    }

    // MARK: Guarding

    @EventLoop private func startGuarding() {
        if guardTimer == nil {
            handleInterruptions()
            guardTimer = try? TimerSource { self.look() }
        }
        if guardTimer == nil { state.withLock { $0.isGuarded = false } }
        guardTimer?.schedule(after: Self.patience)
    }

    /// Interrupts stuck workers, adds one if they sleep, and looks again while there is work.
    @EventLoop private func look() {
        let (mustWake, mustStart) = state.withLock { state in
            state.idleLooks = lookAtWorkers(&state) ? state.idleLooks + 1 : 0
            state.isGuarded = state.calls.count + state.busyCount > 0
            return getWorker(&state)
        }
        if mustWake { wakeUps.signal() }
        if mustStart { BlockingThread.start(work) }
        if state.withLock({ $0.isGuarded }) { guardTimer?.schedule(after: Self.patience) }
    }

    /// Interrupts stuck workers and counts sleeping ones; returns whether all busy ones are stuck.
    private func lookAtWorkers(_ state: inout State) -> Bool {
        var areStuck = state.busyCount > 0
        for (id, worker) in state.workers {
            let processorTime = worker.processorTime
            // A call that takes processor time may have to wait for a processor.
            let isBurning = processorTime > worker.processorTimeAtLastLook + Self.muchProcessorTime
            if worker.isStuck {
                // The thread is alive: it leaves the table only with this lock held.
                pthread_kill(worker.thread, interruption)
            } else if worker.isBusy {
                areStuck = false
            }
            state.workers[id]?.asleepLooks = worker.isStuck && !isBurning ? worker.asleepLooks + 1 : 0
            state.workers[id]?.finishedAtLastLook = worker.isBusy ? worker.finished : nil
            state.workers[id]?.processorTimeAtLastLook = processorTime
        }
        state.asleepCount = state.workers.values.count(where: \.isAsleep)
        return areStuck
    }
}

/// A semaphore that threads wait for.
///
/// Unchecked: the pointer never changes, and several threads may use a semaphore at once (sem_overview(7)).
private final class Semaphore: @unchecked Sendable {
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(semaphore, 0, 0) }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func signal() { sem_post(semaphore) }

    func wait() {
        while sem_wait(semaphore) != 0 {}
    }

    /// Waits for a signal; returns false after so many seconds.
    func wait(seconds: Int) -> Bool {
        var end = timespec()
        clock_gettime(CLOCK_MONOTONIC, &end)
        end.tv_sec += seconds
        while sem_clockwait(semaphore, CLOCK_MONOTONIC, &end) != 0 {
            if errno != EINTR { return false }
        }
        return true
    }
}
