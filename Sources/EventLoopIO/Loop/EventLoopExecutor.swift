// SPDX-License-Identifier: Apache-2.0

import CLinux
import CSystemd
import DequeModule
import Glibc

/// The thread that waits for descriptors and sd-event's timers, and runs the jobs of Swift's concurrency in between.
///
/// It is not a `TaskExecutor`. If a task preferred it, each asynchronous function that the task enters would move its
/// job behind all others (<https://github.com/swiftlang/swift/issues/85668>).
///
/// Unchecked, because its properties are isolated to the loop, constant or locked. `pollSet` stays on the thread.
final class EventLoopExecutor: SerialExecutor, @unchecked Sendable {
    /// The loop checks the time after this many jobs, so that many jobs cannot delay events.
    private static let jobsPerRound = 16

    private let inbox = JobInbox()
    private let wakeUp: Int32
    private let sdEvent: OpaquePointer
    /// The descriptors of ``IOSource``s and of the loop itself; used on the thread only.
    let pollSet = PollSet()
    /// The work of ``EventLoop/atEndOfTurn(_:)``.
    @EventLoop var endOfTurn: Deque<any EndOfTurnWork> = []
    /// The closures of ``EventLoop/atNextTurn(_:)``.
    @EventLoop var nextTurn: Deque<@EventLoop () -> Void> = []
    /// How much of this turn each ready descriptor and closure may take, in nanoseconds.
    @EventLoop private(set) var share = EventLoopExecutor.turn

    /// The number of this turn, for tests.
    @EventLoop private(set) var turnNumber: UInt64 = 0

    /// How long a busy turn should last, in nanoseconds; a client may have to wait for several turns.
    private static let turn: UInt64 = 1_000_000

    /// Whether sd-event must check its timers before the loop waits.
    @EventLoop private var mustPrepare = true

    init() {
        var event: OpaquePointer?
        let created = sd_event_new(&event)
        wakeUp = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        guard created >= 0, let event, wakeUp >= 0 else {
            preconditionFailure("cannot start the event loop: out of descriptors or memory")
        }
        sdEvent = event
        let failure = max(
            pollSet.control(EPOLL_CTL_ADD, wakeUp, EPOLLIN.rawValue, key: PollSet.wakeUpKey),
            pollSet.control(EPOLL_CTL_ADD, sd_event_get_fd(event), EPOLLIN.rawValue, key: PollSet.sdEventKey))
        precondition(failure == 0, "cannot start the event loop: out of memory")
    }

    /// The sd-event loop, for adding a timer.
    @EventLoop var event: OpaquePointer {
        sourceChanged()
        return sdEvent
    }

    /// Makes sd-event check its timers before the loop waits, because one changed.
    @EventLoop func sourceChanged() { mustPrepare = true }

    /// Runs the loop on its own thread.
    func startThread() {
        var thread = pthread_t()
        let started = pthread_create(&thread, nil, runEventLoop, Unmanaged.passRetained(self).toOpaque())
        precondition(started == 0, "cannot start the event loop: cannot create its thread")
    }

    // MARK: Jobs

    var isCurrent: Bool { isEventLoopThread }

    func enqueue(_ job: consuming ExecutorJob) { enqueue(.isolated(UnownedJob(job))) }

    func enqueue(_ body: @escaping @Sendable () -> Void) { enqueue(.closure(body)) }

    func enqueueConcurrent(_ job: UnownedJob) { enqueue(.concurrent(job)) }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    func checkIsolated() { precondition(isCurrent, "not on the event loop's thread") }

    func isIsolatingCurrentContext() -> Bool? { isCurrent }

    private func enqueue(_ job: JobInbox.Job) {
        if inbox.append(job) { eventfd_write(wakeUp, 1) }
    }

    // MARK: The loop

    /// Runs the loop; never returns.
    @EventLoop func run() -> Never {
        var backlog: Deque<JobInbox.Job> = []
        while true {
            // A timer may have created jobs, so the loop does not wait after dispatching one.
            let hasDispatched = runWhatIsDue(&backlog)
            let mayWait = backlog.isEmpty && !hasDispatched && nextTurn.isEmpty && inbox.fallAsleep()
            if pollSet.wait(mayWait: mayWait) { mustPrepare = true }
            if mayWait { inbox.wakeUp() }
            turnNumber &+= 1
            share = Self.turn / UInt64(max(1, pollSet.readyCount + nextTurn.count))
            pollSet.dispatch(wakeUp: wakeUp)
            if !nextTurn.isEmpty { runNextTurn() }
        }
    }

    /// Runs jobs and the due timers, with the jobs they create, for up to the length of a turn.
    ///
    /// If each turn ran only one timer, each further one that is due would be a turn late.
    ///
    /// - Returns: whether there is more to do in this turn.
    @EventLoop private func runWhatIsDue(_ backlog: inout Deque<JobInbox.Job>) -> Bool {
        let share = TurnShare(nanoseconds: Self.turn)
        while true {
            repeat {
                runJobs(&backlog, share)
                runEndOfTurn()
            } while !endOfTurn.isEmpty && !share.isUsedUp
            guard mustPrepare, dispatchSDEvent() else { return !endOfTurn.isEmpty }
            if share.isUsedUp { return true }
        }
    }

    /// Runs the closures that waited for this turn, in order, until the turn is used up; at least one.
    ///
    /// The rest wait for the next turn, so that many costly ones do not delay what becomes ready meanwhile.
    @EventLoop private func runNextTurn() {
        let share = TurnShare(nanoseconds: Self.turn)
        var count = nextTurn.count
        while count > 0, let body = nextTurn.popFirst() {
            count -= 1
            body()
            if share.isUsedUp { return }
        }
    }

    /// Lets sd-event check its timers and dispatch one that is due; returns whether there was one.
    @EventLoop private func dispatchSDEvent() -> Bool {
        mustPrepare = false
        let result = sd_event_run(sdEvent, 0)
        precondition(result >= 0, "the event loop failed: \(String(cString: strerror(-result)))")
        // Another one may be due.
        if result > 0 { mustPrepare = true }
        return result > 0
    }

    /// Runs jobs, and the jobs that they create, until the share is used up.
    ///
    /// It runs at least one round, and a quarter of the waiting jobs. Without the quarter, events could create jobs
    /// faster than they run for as long as the system is busy with other processes.
    @EventLoop private func runJobs(_ backlog: inout Deque<JobInbox.Job>, _ share: TurnShare) {
        var least = backlog.isEmpty ? 0 : (backlog.count + inbox.count) / 4
        repeat {
            if backlog.isEmpty { inbox.swapJobs(&backlog) }
            let count = min(backlog.count, Self.jobsPerRound)
            if count == 0 { return }
            for _ in 0..<count { backlog.popFirst().map(run) }
            least -= count
        } while least > 0 || !share.isUsedUp
    }

    private func run(_ job: JobInbox.Job) {
        switch job {
        case .isolated(let job): job.runSynchronously(on: asUnownedSerialExecutor())
        case .concurrent(let job): job.runSynchronously(on: .concurrent)
        case .closure(let body): body()
        }
    }

    @EventLoop private func runEndOfTurn() {
        while !endOfTurn.isEmpty {
            // Jobs that this work creates come before work that it appends.
            for _ in 0..<endOfTurn.count { endOfTurn.popFirst()?.turnEnds() }
            if inbox.count > 0 { return }
        }
    }
}
