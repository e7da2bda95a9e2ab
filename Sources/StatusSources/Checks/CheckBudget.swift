// SPDX-License-Identifier: Apache-2.0

public import Systemd

/// How many checks may run side by side, those of all servers together.
///
/// Whoever finds no place waits, in order. A load that somebody asked for goes before those that only the clock asked for, and a quarter
/// of the places, but at least one of several, is for such loads alone: so it need not wait for the end of checks that hang.
@EventLoop
public final class CheckBudget {
    /// What a check takes of the machine.
    public enum Resource: Sendable {
        case process, connection
    }

    /// How many may run.
    public struct Limits: Sendable, Equatable {
        /// Checks of all kinds.
        public var checks: Int
        /// Those among them that are processes.
        public var processes: Int

        /// Limits of at least one.
        public init(checks: Int, processes: Int) {
            self.checks = max(1, checks)
            self.processes = max(1, processes)
        }
    }

    private struct Waiter {
        let id: Int
        let resource: Resource
        let isUrgent: @EventLoop () -> Bool
        let continuation: CheckedContinuation<Bool, Never>
    }

    /// The limits; those who run already go on where they become less.
    public var limits: Limits { didSet { admit() } }
    private(set) var running = 0
    private var runningProcesses = 0
    private var waiters: [Waiter] = []
    private var lastID = 0

    /// A budget that nobody uses yet.
    public init(_ limits: Limits) { self.limits = limits }

    /// Runs `body` when there is a place for it.
    ///
    /// - Parameters:
    ///   - resource: what it takes.
    ///   - isUrgent: whether somebody waits for it; asked each time that a place becomes free.
    ///   - body: what to run.
    /// - Throws: what `body` throws; `CancellationError` where the task is cancelled before there is a place.
    public func run<Result: Sendable>(
        _ resource: Resource, isUrgent: @escaping @EventLoop () -> Bool = { false },
        _ body: @EventLoop @Sendable () async throws -> Result
    ) async throws -> Result {
        guard await enter(resource, isUrgent: isUrgent) else { throw CancellationError() }
        defer { leave(resource) }
        return try await body()
    }

    /// Waits for a place; returns whether there is one, which has been taken then.
    private func enter(_ resource: Resource, isUrgent: @escaping @EventLoop () -> Bool) async -> Bool {
        lastID += 1
        let id = lastID
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // Asked here: the handler of a task that was cancelled before has run already, and found nobody.
                guard !Task.isCancelled else { return continuation.resume(returning: false) }
                waiters.append(
                    Waiter(id: id, resource: resource, isUrgent: isUrgent, continuation: continuation))
                admit()
            }
        } onCancel: {
            EventLoop.perform { self.giveUp(id) }
        }
    }

    private func giveUp(_ id: Int) {
        guard let index = waiters.firstIndex(where: { $0.id == id }) else { return }
        waiters.remove(at: index).continuation.resume(returning: false)
    }

    private func leave(_ resource: Resource) {
        running -= 1
        if resource == .process { runningProcesses -= 1 }
        admit()
    }

    /// Hands free places over to those who wait; nobody can come in between.
    ///
    /// To be called where what is urgent may have become another.
    func admit() {
        while let index = nextWaiter() {
            let waiter = waiters.remove(at: index)
            take(waiter.resource)
            waiter.continuation.resume(returning: true)
        }
    }

    private func nextWaiter() -> Int? {
        guard running < limits.checks else { return nil }
        return waiters.firstIndex { hasRoom(for: $0.resource, isUrgent: true) && $0.isUrgent() }
            ?? waiters.firstIndex { hasRoom(for: $0.resource, isUrgent: false) }
    }

    private func hasRoom(for resource: Resource, isUrgent: Bool) -> Bool {
        func isFree(_ used: Int, of limit: Int) -> Bool {
            let reserve = limit == 1 || isUrgent ? 0 : max(1, limit / 4)
            return used < limit - reserve
        }
        return isFree(running, of: limits.checks)
            && (resource != .process || isFree(runningProcesses, of: limits.processes))
    }

    private func take(_ resource: Resource) {
        running += 1
        if resource == .process { runningProcesses += 1 }
    }
}
