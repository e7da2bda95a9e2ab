// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The event loop: one thread that waits for descriptors and for sd-event(3), and is the executor of this global actor.
///
/// Whatever owns a descriptor is isolated to it, so what comes in is handled on the loop's thread without a hop and without a lock.
/// Nothing on it may wait: a call that blocks holds up everything, and the watchdog notices.
@globalActor
public actor EventLoop {
    /// The one loop of the process.
    public static let shared = EventLoop()

    /// The loop, which begins with its first use: on a thread of its own, or on that of ``runProcess(_:)``.
    static let executor = {
        let executor = EventLoopExecutor()
        if !isEventLoopThread { executor.startThread() }
        return executor
    }()

    /// Runs a whole process on the loop: makes the caller's thread the loop's, runs `body` there, and exits with the status it returns.
    ///
    /// All tasks run on this one thread, whatever they are isolated to; a process that does nothing else has no other thread. What
    /// blocks has to run elsewhere (``BlockingThread``), and tasks sleep with ``sleep(for:)``. Nothing runs on the main actor. It
    /// must be called by the main thread, before the first task and the first use of the loop.
    public nonisolated static func runProcess(_ body: @escaping @Sendable () async -> Int32) -> Never {
        occupyStandardDescriptors()
        becomeEventLoopThread()
        GlobalExecutor.install()
        // It cannot be the child of another task: the process ends with it.
        Task { exit(await body()) }
        executor.run()
    }

    public nonisolated var unownedExecutor: UnownedSerialExecutor { Self.executor.asUnownedSerialExecutor() }

    /// Opens /dev/null in the place of standard descriptors that are closed, so that no socket takes their place and is written to.
    ///
    /// For reading only: who writes there learns that there is no such output (EBADF).
    private nonisolated static func occupyStandardDescriptors() {
        var descriptor: Int32 = 0
        while descriptor >= 0, descriptor <= STDERR_FILENO { descriptor = open("/dev/null", O_RDONLY) }
        if descriptor > STDERR_FILENO { close(descriptor) }
    }

    /// Runs `body` on the loop and returns what it returns, as `MainActor.run` does.
    public static func run<Result: Sendable>(
        _ body: @EventLoop @Sendable () throws -> Result
    ) async rethrows -> Result {
        try await body()
    }

    /// Runs `body` on the loop: at once where the caller is on its thread already, else as soon as the loop is free, in order.
    public nonisolated static func perform(_ body: @escaping @EventLoop @Sendable () -> Void) {
        if executor.isCurrent {
            assumeIsolated(body)
        } else {
            executor.enqueue(body)
        }
    }

    /// Runs `body` when what is being handled now, and the jobs it enqueued, have been handled, before the loop waits again.
    ///
    /// For work that one pass does for many: a flush for a batch of messages.
    @EventLoop public static func atEndOfTurn(_ body: @escaping @EventLoop () -> Void) {
        executor.endOfTurn.append { assumeIsolated(body) }
    }

    /// Runs `body` when the loop has looked for what else there is to do, and has done some of that.
    ///
    /// For whoever has used up its share of a turn (``TurnShare``).
    @EventLoop public static func atNextTurn(_ body: @escaping @EventLoop () -> Void) {
        executor.nextTurn.append { assumeIsolated(body) }
    }

    /// The number of the loop's current turn.
    @EventLoop public static var turn: UInt64 { executor.turnNumber }

    /// Says that the caller is on the loop's thread, as C callbacks of the loop are; stops the process where it is not.
    public nonisolated static func assumeIsolated<Result: Sendable>(
        _ body: @EventLoop () throws -> Result, file: StaticString = #fileID, line: UInt = #line
    ) rethrows -> Result {
        precondition(executor.isCurrent, "not on the event loop's thread", file: file, line: line)
        return try withoutActuallyEscaping(body) { body in
            // The thread was checked above; the cast takes off the isolation only, as MainActor.assumeIsolated does.
            try unsafeBitCast(body, to: (() throws -> Result).self)()
        }
    }
}
