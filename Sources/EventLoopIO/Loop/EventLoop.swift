// SPDX-License-Identifier: Apache-2.0

package import Glibc

/// The event loop: a global actor whose executor is one thread that waits for descriptors and timers (sd-event(3)).
///
/// Objects that own a descriptor are isolated to it, so its thread handles input without a hop or a lock. Code on it
/// must not block: that would delay everything else, and the watchdog would notice.
@globalActor
public actor EventLoop {
    /// The one loop of the process.
    public static let shared = EventLoop()

    /// The executor, which starts with its first use: on a new thread, or on the thread of ``runProcess(_:)``.
    static let executor = {
        let executor = EventLoopExecutor()
        if !isEventLoopThread { executor.startThread() }
        return executor
    }()

    /// Makes the caller's thread the loop's, runs `body` on it, and exits with the status that `body` returns.
    ///
    /// All tasks run on this one thread, whatever their isolation, and so does the main actor. A process that does
    /// nothing else has no other thread. Code that blocks must run elsewhere (``BlockingThread``), and tasks sleep
    /// with ``sleep(for:)``. Call this on the main thread, before the first task and the first use of the loop.
    package nonisolated static func runProcess(_ body: @escaping @Sendable () async -> Int32) -> Never {
        occupyStandardDescriptors()
        becomeEventLoopThread()
        GlobalExecutor.install()
        // Unstructured, because it has no parent task: the process ends with it.
        Task { exit(await body()) }
        assumeIsolated { executor.run() }
    }

    public nonisolated var unownedExecutor: UnownedSerialExecutor { Self.executor.asUnownedSerialExecutor() }

    /// Opens /dev/null as each closed standard descriptor.
    ///
    /// Otherwise output could go to a socket that gets its number. It is opened for reading only, so that writing fails
    /// (EBADF), as it should without an output.
    private nonisolated static func occupyStandardDescriptors() {
        var descriptor: Int32 = 0
        while descriptor >= 0, descriptor <= STDERR_FILENO { descriptor = open("/dev/null", O_RDONLY) }
        if descriptor > STDERR_FILENO { close(descriptor) }
    }

    /// Runs `body` on the loop and returns its result, as `MainActor.run` does.
    package static func run<Result: Sendable>(
        _ body: @EventLoop @Sendable () throws -> Result
    ) async rethrows -> Result {
        try await body()
    }

    /// Runs `body` on the loop: at once if the caller is on it, else as soon as the loop is free, in order.
    public nonisolated static func perform(_ body: @escaping @EventLoop @Sendable () -> Void) {
        // The executor keeps closures without their isolation, which would be checked at each call.
        let body = unsafeBitCast(body, to: (@Sendable () -> Void).self)
        if executor.isCurrent { body() } else { executor.enqueue(body) }
    }

    /// Runs `body` on the loop with an object, as ``perform(_:)`` does.
    ///
    /// If the caller is on the loop and `body` captures nothing, this needs no memory.
    public nonisolated static func perform<Object: AnyObject & Sendable>(
        with object: Object, _ body: @escaping @EventLoop @Sendable (Object) -> Void
    ) {
        guard executor.isCurrent else { return perform { body(object) } }
        unsafeBitCast(body, to: (@Sendable (Object) -> Void).self)(object)
    }

    /// Runs `body` at the end of the current turn, after the jobs that the turn created and before the loop waits.
    @EventLoop public static func atEndOfTurn(_ body: @escaping @EventLoop () -> Void) {
        atEndOfTurn(EndOfTurnClosure(body: body))
    }

    /// Lets an object do its work at the end of the current turn.
    @EventLoop public static func atEndOfTurn(_ work: any EndOfTurnWork) { executor.endOfTurn.append(work) }

    /// Runs `body` in the next turn that has time for it, after the loop has checked for new events.
    ///
    /// Use it after a ``TurnShare`` is used up.
    @EventLoop public static func atNextTurn(_ body: @escaping @EventLoop () -> Void) {
        executor.nextTurn.append(body)
    }

    /// Runs `body` isolated to the loop, or stops the process if the caller is not on the loop's thread.
    ///
    /// C callbacks that run on the loop need it.
    public nonisolated static func assumeIsolated<Result: Sendable>(
        _ body: @EventLoop () throws -> Result, file: StaticString = #fileID, line: UInt = #line
    ) rethrows -> Result {
        precondition(executor.isCurrent, "not on the event loop's thread", file: file, line: line)
        // For withoutActuallyEscaping, the compiler writes the length of this file's path into the program, which would
        // then depend on where it was built. The end of the function has the same effect.
        #sourceLocation(file:"EventLoop.assumeIsolated",line:87)
        return try withoutActuallyEscaping(body) { body in
            // The thread was checked above. The cast removes only the isolation, as MainActor.assumeIsolated does.
            try unsafeBitCast(body, to: (() throws -> Result).self)()
        }
    }
    #sourceLocation()
}

/// What does one pass of work for many callers at the end of a turn, such as a flush after a batch of messages.
@EventLoop
public protocol EndOfTurnWork {
    /// Does the work; the turn has no more jobs.
    func turnEnds()
}

private struct EndOfTurnClosure: EndOfTurnWork {
    let body: @EventLoop () -> Void

    func turnEnds() { body() }
}

extension EventLoop {
    /// Suspends the task for a duration, without blocking the loop.
    ///
    /// `Task.sleep` starts Dispatch's threads under any global executor (Swift 6.3), and keeps its timer after a
    /// cancellation.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled; ``IOError`` if the system has no descriptor or
    ///   memory for a timer.
    @EventLoop package static func sleep(
        for duration: Duration, accuracy: Duration = TimerSource.usualAccuracy
    ) async throws {
        _ = try await TimedWait<Void>.run(within: duration, by: .boottime, accuracy: accuracy) { _ in }
        try Task.checkCancellation()
    }
}

/// The continuous clock, with sleeps on the event loop (``EventLoop/sleep(for:)``).
package struct EventLoopClock: Clock {
    package typealias Instant = ContinuousClock.Instant

    /// Creates the clock.
    package init() {}

    package var now: Instant { ContinuousClock.now }

    package var minimumResolution: Duration { .milliseconds(1) }

    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try await EventLoop.sleep(
            for: now.duration(to: deadline), accuracy: tolerance ?? TimerSource.usualAccuracy)
    }
}

/// The part of a loop turn that one client, or another source of work, may use.
///
/// A busy turn lasts a millisecond, which all sources with work share evenly.
public struct TurnShare: Sendable {
    private let end: UInt64

    /// Begins a share of the current turn.
    @EventLoop public init() { self.init(nanoseconds: EventLoop.executor.share) }

    /// Begins a share of a given length.
    ///
    /// Not of a `Duration`, whose 128-bit division would cost more than the rest of an idle turn.
    public init(nanoseconds: UInt64) { end = Self.now + nanoseconds }

    /// Whether the rest must wait for the next turn (``EventLoop/atNextTurn(_:)``).
    public var isUsedUp: Bool { Self.now >= end }

    private static var now: UInt64 { nanoseconds(of: CLOCK_MONOTONIC) }
}

/// The time of a clock, in nanoseconds.
package func nanoseconds(of clock: clockid_t) -> UInt64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
