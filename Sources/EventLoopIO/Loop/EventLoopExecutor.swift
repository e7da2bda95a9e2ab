// SPDX-License-Identifier: Apache-2.0

import CLinux
import CSystemd
import DequeModule
import Glibc
import Synchronization

/// The thread that waits for descriptors and sd-event's timers, and runs the jobs of Swift's concurrency in between.
///
/// It is not a `TaskExecutor`. If a task preferred it, each asynchronous function that the task enters would move its
/// job behind all others (<https://github.com/swiftlang/swift/issues/85668>).
///
/// Unchecked, because properties that are used on the thread only are not shared. The others are constant or locked.
final class EventLoopExecutor: SerialExecutor, @unchecked Sendable {
    private enum Job {
        /// A job of an actor whose executor this is.
        case isolated(UnownedJob)
        /// A job of Swift's global executor (``EventLoop/runProcess(_:)``).
        case concurrent(UnownedJob)
        /// A closure of ``EventLoop/perform(_:)``.
        case closure(@Sendable () -> Void)
    }

    /// Jobs taken from the inbox, and how many of them have run.
    private struct Backlog {
        var jobs: [Job] = []
        var next = 0

        var count: Int { jobs.count - next }
        var isEmpty: Bool { count == 0 }

        mutating func clear() {
            jobs.removeAll(keepingCapacity: true)
            next = 0
        }
    }

    private struct Inbox {
        var jobs: [Job] = []
        /// Whether the loop waits or is about to, so that a new job must wake it.
        var isAsleep = false
    }

    /// The loop checks the time after this many jobs, so that many jobs cannot delay events.
    private static let jobsPerRound = 16

    private let inbox = Mutex(Inbox())
    private let wakeUp: Int32
    private let sdEvent: OpaquePointer
    /// The descriptors of ``IOSource``s and of the loop itself; used on the thread only.
    let pollSet = PollSet()
    /// The closures of ``EventLoop/atEndOfTurn(_:)``; used on the thread only.
    var endOfTurn: Deque<() -> Void> = []
    /// The closures of ``EventLoop/atNextTurn(_:)``; used on the thread only.
    var nextTurn: Deque<() -> Void> = []
    /// How much of this turn each ready descriptor and closure may take, in nanoseconds; used on the thread only.
    private(set) var share = EventLoopExecutor.turn

    /// The number of this turn, for tests; used on the thread only.
    private(set) var turnNumber: UInt64 = 0

    /// How long a busy turn should last, in nanoseconds.
    ///
    /// A client may have to wait for several turns.
    private static let turn: UInt64 = 1_000_000

    /// Whether sd-event must check its timers before the loop waits; used on the thread only.
    private var mustPrepare = true

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

    /// The sd-event loop, for adding a timer; used on the thread only.
    var event: OpaquePointer {
        sourceChanged()
        return sdEvent
    }

    /// Makes sd-event check its timers before the loop waits, because one changed; used on the thread only.
    func sourceChanged() { mustPrepare = true }

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

    private func enqueue(_ job: Job) {
        let mustWake = inbox.withLock { inbox in
            inbox.jobs.append(job)
            defer { inbox.isAsleep = false }
            return inbox.isAsleep
        }
        if mustWake { eventfd_write(wakeUp, 1) }
    }

    // MARK: The loop

    /// Runs the loop; never returns.
    func run() -> Never {
        var backlog = Backlog()
        while true {
            // A timer may have created jobs, so the loop does not wait after dispatching one.
            let hasDispatched = runWhatIsDue(&backlog)
            let mayWait = inbox.withLock { inbox in
                inbox.isAsleep = inbox.jobs.isEmpty && backlog.isEmpty && !hasDispatched && nextTurn.isEmpty
                return inbox.isAsleep
            }
            if pollSet.wait(mayWait: mayWait) { mustPrepare = true }
            if mayWait { inbox.withLock { $0.isAsleep = false } }
            turnNumber &+= 1
            share = Self.turn / UInt64(max(1, pollSet.readyCount + nextTurn.count))
            EventLoop.assumeIsolated { pollSet.dispatch(wakeUp: wakeUp) }
            runNextTurn()
        }
    }

    /// Runs jobs and the due timers, with the jobs they create, for up to the length of a turn.
    ///
    /// If each turn ran only one timer, each further one that is due would be a turn late.
    ///
    /// - Returns: whether there is more to do in this turn.
    private func runWhatIsDue(_ backlog: inout Backlog) -> Bool {
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
    private func runNextTurn() {
        let share = TurnShare(nanoseconds: Self.turn)
        var count = nextTurn.count
        while count > 0, let body = nextTurn.popFirst() {
            count -= 1
            body()
            if share.isUsedUp { return }
        }
    }

    /// Lets sd-event check its timers and dispatch one that is due; returns whether there was one.
    private func dispatchSDEvent() -> Bool {
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
    private func runJobs(_ backlog: inout Backlog, _ share: TurnShare) {
        var least = backlog.isEmpty ? 0 : (backlog.count + inbox.withLock { $0.jobs.count }) / 4
        repeat {
            if backlog.isEmpty {
                backlog.clear()
                inbox.withLock { swap(&$0.jobs, &backlog.jobs) }
                if backlog.isEmpty { return }
            }
            let end = min(backlog.jobs.count, backlog.next + Self.jobsPerRound)
            least -= end - backlog.next
            while backlog.next < end {
                backlog.next += 1
                run(backlog.jobs[backlog.next - 1])
            }
        } while least > 0 || !share.isUsedUp
        // Releases what the closures hold before the loop waits.
        if backlog.isEmpty { backlog.clear() }
    }

    private func run(_ job: Job) {
        switch job {
        case .isolated(let job): job.runSynchronously(on: asUnownedSerialExecutor())
        case .concurrent(let job): job.runSynchronously(on: .concurrent)
        case .closure(let body): body()
        }
    }

    private func runEndOfTurn() {
        while !endOfTurn.isEmpty {
            // Jobs that these closures create come before closures that they append.
            for _ in 0..<endOfTurn.count { endOfTurn.popFirst()?() }
            if inbox.withLock({ !$0.jobs.isEmpty }) { return }
        }
    }
}
