// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// Threads for system calls that other processes can make slow.
///
/// A descriptor in the queue of a Unix socket may be a TCP socket with SO_LINGER: its release waits until its peer has read
/// everything, for as long as the sender likes. That of a pipe waits while a writer holds its lock, and that of a file may have to dismantle a
/// file system. A signal ends the wait for a TCP socket, so a call that takes longer than ``patience`` is interrupted. And a socket may be watched
/// so often that a call on its peer takes a lot of processor time (``ForeignSocket``).
final class SystemCallThreads: Sendable {
    /// When there is another thread.
    enum Growth {
        /// If a call waits for one.
        case withCalls
        /// If a call waits for one and all threads sleep in theirs: more threads for calls that take processor time would take it from the loop.
        case withSleepers
    }

    private struct Worker {
        let thread: pthread_t
        var isBusy = false
        /// How many calls it has made, now and when it was last looked at; nil if it was idle then.
        var finished = 0
        var finishedAtLastLook: Int?
        /// The processor time that it had taken then, in nanoseconds.
        var processorTimeAtLastLook: UInt64 = 0
        /// How often in a row it was found to be making the same call without taking processor time.
        var asleepLooks = 0

        var isAsleep: Bool { asleepLooks >= SystemCallThreads.patienceInLooks }

        /// Whether it has been making the same call since the last look.
        var isStuck: Bool { isBusy && finished == finishedAtLastLook }

        var processorTime: UInt64 {
            var clock = clockid_t()
            return pthread_getcpuclockid(thread, &clock) == 0 ? nanoseconds(of: clock) : 0
        }
    }

    private struct State {
        var calls = SystemCallQueue()
        /// The threads, and how many there are with those that are starting.
        var workers: [Int: Worker] = [:]
        var workerCount = 0
        var lastWorker = 0
        /// How many of them are making a call, and how many of these have slept in it for a while.
        var busyCount = 0
        var asleepCount = 0
        /// How many of them wait for a call, but for those that have been woken.
        var idleCount = 0
        var isGuarded = false
        /// How many looks ago a call ended last.
        var idleLooks = 0

        /// How many are starting, have been woken, or have just made a call: these take what waits.
        var comingCount: Int { workerCount - busyCount - idleCount }
    }

    /// Sends to connections of ordinary users, receives from them, and closes them.
    static let peers = SystemCallThreads(limit: 8, .withSleepers)
    /// Closes connections with something unread, which may be descriptors.
    ///
    /// Anybody may have sent it, so these threads are not those of ``datagrams``.
    static let connections = SystemCallThreads(limit: 64, .withCalls)
    /// Receives datagrams without their descriptors, each socket as an owner, and closes such sockets.
    static let datagrams = SystemCallThreads(limit: 64, .withCalls)

    private static let patience = Duration.milliseconds(2)
    /// If no call ends for so many looks, the threads wait for what no signal ends.
    private static let patienceInLooks = 5
    /// Whoever takes more processor time between two looks does not sleep, in nanoseconds.
    private static let muchProcessorTime: UInt64 = 100_000
    /// The most threads.
    ///
    /// Where calls may sleep there are so many, interrupted so soon, that hardly anybody sends faster what has to be closed. And a signal does not end every wait.
    private let limit: Int
    private let growth: Growth
    /// How long a thread waits for the next call, in seconds.
    private let lingering: Int
    private let state = Mutex(State())
    private let wakeUps = Semaphore()
    @EventLoop private var guardTimer: TimerSource?

    init(limit: Int, _ growth: Growth, lingering: Int = 1) {
        self.limit = limit
        self.growth = growth
        self.lingering = lingering
    }

    /// Whether more calls wait than there may be threads, which soon will have made them.
    var isBehind: Bool { state.withLock { $0.calls.count > limit && $0.idleLooks < Self.patienceInLooks } }

    /// How many calls are being made.
    var busyCount: Int { state.withLock { $0.busyCount } }

    /// How many calls wait or are being made.
    var count: Int { state.withLock { $0.calls.count + $0.busyCount } }

    /// Makes a call soon, without waiting for it.
    ///
    /// - Parameters:
    ///   - owner: whose long calls come after those of others who have taken less time.
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

    /// Notes which thread is to make a call that waits, if it is neither one that makes another nor one that is starting.
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

    /// Whether another thread may make a call, beside those that make one.
    private func mayWork(_ state: State) -> Bool {
        growth == .withCalls || state.busyCount == state.asleepCount
    }

    // MARK: Workers

    /// A worker's whole life: it ends when there has been nothing to do for a while.
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
                // It may have had to wait for a processor, which says nothing about the next one.
                let processorTime = nanoseconds(of: CLOCK_THREAD_CPUTIME_ID) - begin
                state.withLock { state in
                    Self.noteEnd(of: worker, &state)
                    state.calls.charge(share.nanosecondsTaken, processorTime: processorTime, for: next)
                }
            }
            guard mayWait() else { continue }
            if !wakeUps.wait(seconds: lingering) {
                if mayEnd(worker) { return }
                // Somebody has woken all that wait, and so this one, too.
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

    /// Whether a worker that nobody woke may end; not if somebody has just done so, or is about to.
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

    /// Interrupts the workers that have finished nothing since the last look, has another work if they sleep, and goes on looking while there is something to do.
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

    /// Interrupts the workers that are stuck, and counts those that sleep; returns whether all that are busy are stuck.
    private func lookAtWorkers(_ state: inout State) -> Bool {
        var areStuck = state.busyCount > 0
        for (id, worker) in state.workers {
            let processorTime = worker.processorTime
            // One that takes processor time may have to wait for a processor.
            let isBurning = processorTime > worker.processorTimeAtLastLook + Self.muchProcessorTime
            if worker.isStuck {
                // It is alive: only with this lock held does it leave the table.
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

/// What threads wait for.
///
/// Unchecked: the pointer never changes, and sem_overview(7) is made to be used by several threads at once.
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

    /// Returns false if nobody has signalled for so long, or for longer if the clock is set back.
    func wait(seconds: Int) -> Bool {
        var end = timespec()
        clock_gettime(CLOCK_REALTIME, &end)
        end.tv_sec += seconds
        while sem_timedwait(semaphore, &end) != 0 {
            if errno != EINTR { return false }
        }
        return true
    }
}
