// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc
import Synchronization

/// The thread that runs sd-event's loop and, between two events, the jobs of Swift's concurrency.
///
/// No `TaskExecutor`: an actor's job that is run as one of a task that prefers the executor is put back behind all others by each
/// asynchronous function it enters, even by `withCheckedContinuation` (<https://github.com/swiftlang/swift/issues/85668>).
///
/// Unchecked: `event` and `endOfTurn` are used on the thread alone; the rest never changes or is behind a lock.
public final class EventLoopExecutor: SerialExecutor, @unchecked Sendable {
    /// A job of Swift's, or a closure of `EventLoop.perform`.
    private enum Job {
        case swift(UnownedJob)
        case closure(@EventLoop @Sendable () -> Void)
    }

    private struct Inbox {
        var jobs: [Job] = []
        /// Whether the loop waits, or is about to, so that it has to be woken.
        var isAsleep = false
    }

    /// After this many jobs the loop looks for events, so that a flood of jobs cannot starve them.
    private static let jobsPerRound = 4096

    private let inbox = Mutex(Inbox())
    private let wakeUp: Int32
    /// The sd-event loop, to add sources to; on the thread only.
    let event: OpaquePointer
    /// What `IOSource`s watch; on the thread only.
    let pollSet = PollSet()
    /// What `EventLoop.atEndOfTurn` collected; on the thread only.
    var endOfTurn: [() -> Void] = []

    init() {
        var event: OpaquePointer?
        let created = sd_event_new(&event)
        wakeUp = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        guard created >= 0, let event, wakeUp >= 0 else {
            preconditionFailure("no event loop: out of descriptors or memory")
        }
        self.event = event
        let added = min(
            sd_event_add_io(event, nil, wakeUp, EPOLLIN.rawValue, drainWakeUp, nil),
            sd_event_add_io(
                event, nil, pollSet.descriptor, EPOLLIN.rawValue, pollSetCallback,
                Unmanaged.passUnretained(pollSet).toOpaque()))
        var thread = pthread_t()
        let started = pthread_create(&thread, nil, runEventLoop, Unmanaged.passRetained(self).toOpaque())
        precondition(added >= 0 && started == 0, "no event loop: the thread does not start")
    }

    /// Whether the caller is on the loop's thread.
    public var isCurrent: Bool { isEventLoopThread }

    public func enqueue(_ job: consuming ExecutorJob) { enqueue(.swift(UnownedJob(job))) }

    func enqueue(_ body: @escaping @EventLoop @Sendable () -> Void) { enqueue(.closure(body)) }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    public func checkIsolated() { precondition(isCurrent, "not on the event loop's thread") }

    public func isIsolatingCurrentContext() -> Bool? { isCurrent }

    private func enqueue(_ job: Job) {
        let mustWake = inbox.withLock { inbox in
            inbox.jobs.append(job)
            defer { inbox.isAsleep = false }
            return inbox.isAsleep
        }
        if mustWake { eventfd_write(wakeUp, 1) }
    }

    /// The thread's whole life.
    func run() {
        var round: [Job] = []
        while true {
            repeat {
                runJobs(&round)
                runEndOfTurn()
            } while !endOfTurn.isEmpty
            let mayWait = inbox.withLock { inbox in
                inbox.isAsleep = inbox.jobs.isEmpty
                return inbox.isAsleep
            }
            let result = sd_event_run(event, mayWait ? UInt64.max : 0)
            precondition(result >= 0, "the event loop fails: \(String(cString: strerror(-result)))")
            if mayWait { inbox.withLock { $0.isAsleep = false } }
        }
    }

    private func runJobs(_ round: inout [Job]) {
        var left = Self.jobsPerRound
        while left > 0 {
            inbox.withLock { swap(&$0.jobs, &round) }
            if round.isEmpty { return }
            left -= round.count
            for job in round { run(job) }
            round.removeAll(keepingCapacity: true)
        }
    }

    private func run(_ job: Job) {
        switch job {
        case .swift(let job):
            job.runSynchronously(on: asUnownedSerialExecutor())
        case .closure(let body): EventLoop.assumeIsolated(body)
        }
    }

    private func runEndOfTurn() {
        while !endOfTurn.isEmpty {
            let bodies = endOfTurn
            endOfTurn.removeAll(keepingCapacity: true)
            for body in bodies { body() }
            if inbox.withLock({ !$0.jobs.isEmpty }) { return }
        }
    }
}
