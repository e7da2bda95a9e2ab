// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The event loop: a global actor whose executor is one thread that waits for descriptors, and for timers with
/// sd-event(3).
///
/// Every object that owns a descriptor is isolated to it, so its thread handles input without a hop or a lock. Nothing
/// on it may wait: a call that blocks holds up everything, and the watchdog notices.
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
    /// All tasks run on this one thread, whatever their isolation, and nothing runs on the main actor. A process that
    /// does nothing else has no other thread. Code that blocks must run elsewhere (``BlockingThread``), and tasks sleep
    /// with ``sleep(for:)``. Call this on the main thread, before the first task and the first use of the loop.
    public nonisolated static func runProcess(_ body: @escaping @Sendable () async -> Int32) -> Never {
        occupyStandardDescriptors()
        becomeEventLoopThread()
        GlobalExecutor.install()
        // Unstructured, because it has no parent task: the process ends with it.
        Task { exit(await body()) }
        executor.run()
    }

    public nonisolated var unownedExecutor: UnownedSerialExecutor { Self.executor.asUnownedSerialExecutor() }

    /// Opens /dev/null as each closed standard descriptor, so that no socket gets the number and is written to.
    ///
    /// It opens for reading only, so writing fails (EBADF), as it should without an output.
    private nonisolated static func occupyStandardDescriptors() {
        var descriptor: Int32 = 0
        while descriptor >= 0, descriptor <= STDERR_FILENO { descriptor = open("/dev/null", O_RDONLY) }
        if descriptor > STDERR_FILENO { close(descriptor) }
    }

    /// Runs `body` on the loop and returns its result, as `MainActor.run` does.
    public static func run<Result: Sendable>(
        _ body: @EventLoop @Sendable () throws -> Result
    ) async rethrows -> Result {
        try await body()
    }

    /// Runs `body` on the loop: at once if the caller is on it, else as soon as the loop is free, in order.
    public nonisolated static func perform(_ body: @escaping @EventLoop @Sendable () -> Void) {
        if executor.isCurrent {
            assumeIsolated(body)
        } else {
            executor.enqueue(body)
        }
    }

    /// Runs `body` at the end of the current turn, after the jobs that the turn created and before the loop waits.
    ///
    /// Use it for work that one pass does for many callers, such as a flush after a batch of messages.
    @EventLoop public static func atEndOfTurn(_ body: @escaping @EventLoop () -> Void) {
        executor.endOfTurn.append { assumeIsolated(body) }
    }

    /// Runs `body` in the next turn, after the loop has looked for new events.
    ///
    /// Use it after a ``TurnShare`` is used up.
    @EventLoop public static func atNextTurn(_ body: @escaping @EventLoop () -> Void) {
        executor.nextTurn.append { assumeIsolated(body) }
    }

    /// The number of the loop's current turn.
    @EventLoop public static var turn: UInt64 { executor.turnNumber }

    /// Runs `body` as isolated to the loop if the caller is on its thread, as C callbacks are; else stops the process.
    public nonisolated static func assumeIsolated<Result: Sendable>(
        _ body: @EventLoop () throws -> Result, file: StaticString = #fileID, line: UInt = #line
    ) rethrows -> Result {
        precondition(executor.isCurrent, "not on the event loop's thread", file: file, line: line)
        // For withoutActuallyEscaping, the compiler writes the length of this file's path into the program, which would
        // depend on where it was built. It does so for the end of the function, too.
        #sourceLocation(file:"EventLoop.assumeIsolated",line:87)
        return try withoutActuallyEscaping(body) { body in
            // The thread was checked above. The cast removes only the isolation, as MainActor.assumeIsolated does.
            try unsafeBitCast(body, to: (() throws -> Result).self)()
        }
    }
    #sourceLocation()
}
