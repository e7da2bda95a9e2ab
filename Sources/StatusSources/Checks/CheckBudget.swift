// SPDX-License-Identifier: Apache-2.0

public import StatusModel
public import Systemd

/// How many checks may run side by side, those of all servers together.
///
/// Whoever finds no place waits, in order. A load that somebody asked for goes before those that only the clock asked for, and a quarter
/// of the places, but at least one of several, is for such loads alone: so it need not wait for the end of checks that hang.
@EventLoop
public final class CheckBudget {
    /// What a check takes of the machine.
    public enum Resource: Sendable, CaseIterable {
        /// A process, for a plugin.
        case process
        /// A process, for an HTTP request.
        case request
        case connection
    }

    /// How many may run.
    public struct Limits: Sendable, Equatable {
        /// Checks of all kinds.
        public var checks: Int
        /// Those among them that are plugins.
        public var processes: Int
        /// Those among them that are HTTP requests.
        public var requests: Int

        /// Limits of at least one.
        public init(checks: Int, processes: Int, requests: Int = .max) {
            self.checks = max(1, checks)
            self.processes = max(1, processes)
            self.requests = max(1, requests)
        }

        /// How many checks may have a resource; nil if only the number of all counts.
        fileprivate func limit(of resource: Resource) -> Int? {
            switch resource {
            case .process: processes
            case .request: requests
            case .connection: nil
            }
        }
    }

    /// What a check needs to run, and who waits for it.
    @EventLoop
    public final class Claim {
        let resource: Resource
        let isUrgent: @EventLoop () -> Bool
        /// Its number while it waits for a slot.
        fileprivate var number: Int?

        /// A claim to a slot.
        ///
        /// - Parameters:
        ///   - resource: what the check takes.
        ///   - isUrgent: whether a caller waits for it. When that becomes true, ``CheckBudget/expedite(_:)`` must be called.
        public init(_ resource: Resource, isUrgent: @escaping @EventLoop () -> Bool = { false }) {
            self.resource = resource
            self.isUrgent = isUrgent
        }
    }

    private struct Waiter {
        let claim: Claim
        let continuation: CheckedContinuation<Bool, Never>
    }

    /// The limits; those who run already go on where they become less.
    public var limits: Limits { didSet { admit() } }
    private(set) var running = 0
    /// How many wait for a slot.
    var waiting: Int { queue.count }
    /// Is told of a server whose check has waited for a slot longer than its interval, and how long.
    let onDelay: @EventLoop (ServerName, Duration) -> Void
    private var runningOf: [Resource: Int] = [:]
    private var queue = CheckQueue<Waiter>()

    /// A budget that nobody uses yet.
    ///
    /// - Parameters:
    ///   - limits: how many may run.
    ///   - onDelay: is told of a server whose check has waited for a slot longer than its interval, and how long.
    public init(_ limits: Limits, onDelay: @escaping @EventLoop (ServerName, Duration) -> Void = { _, _ in }) {
        self.limits = limits
        self.onDelay = onDelay
    }

    /// Runs `body` when there is a slot for it.
    ///
    /// A claim is for one run at a time.
    ///
    /// - Throws: what `body` throws; `CancellationError` if the task is cancelled before there is a slot.
    public func run<Result: Sendable>(
        _ claim: Claim, _ body: @EventLoop @Sendable () async throws -> Result
    ) async throws -> Result {
        guard await enter(claim) else { throw CancellationError() }
        defer { leave(claim.resource) }
        return try await body()
    }

    /// Notes that a caller waits for a check, which may be waiting for a slot already.
    public func expedite(_ claim: Claim) {
        guard let number = claim.number else { return }
        queue.expedite(number)
        admit()
    }

    /// Waits for a slot; returns whether there is one, which has been taken then.
    private func enter(_ claim: Claim) async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // Asked here: the handler of a task that was cancelled before has run already, and found nobody.
                guard !Task.isCancelled else { return continuation.resume(returning: false) }
                let number = queue.append(Waiter(claim: claim, continuation: continuation), for: claim.resource)
                claim.number = number
                if claim.isUrgent() { queue.expedite(number) }
                admit()
            }
        } onCancel: {
            EventLoop.perform { self.giveUp(claim) }
        }
    }

    private func giveUp(_ claim: Claim) {
        guard let number = claim.number else { return }
        claim.number = nil
        queue.remove(number)?.continuation.resume(returning: false)
    }

    private func leave(_ resource: Resource) {
        running -= 1
        runningOf[resource, default: 0] -= 1
        admit()
    }

    /// Hands free slots over to those who wait; nobody can come in between.
    private func admit() {
        while let (waiter, resource) = nextWaiter() {
            take(resource)
            waiter.claim.number = nil
            waiter.continuation.resume(returning: true)
        }
    }

    private func nextWaiter() -> (waiter: Waiter, resource: Resource)? {
        guard running < limits.checks else { return nil }
        return queue.popUrgent(where: { hasRoom(for: $0, isUrgent: true) }, isUrgent: { $0.claim.isUrgent() })
            ?? queue.popOrdinary(where: { hasRoom(for: $0, isUrgent: false) })
    }

    private func hasRoom(for resource: Resource, isUrgent: Bool) -> Bool {
        func isFree(_ used: Int, of limit: Int) -> Bool {
            let reserve = limit == 1 || isUrgent ? 0 : max(1, limit / 4)
            return used < limit - reserve
        }
        guard isFree(running, of: limits.checks) else { return false }
        return limits.limit(of: resource).map { isFree(runningOf[resource, default: 0], of: $0) } ?? true
    }

    private func take(_ resource: Resource) {
        running += 1
        runningOf[resource, default: 0] += 1
    }
}
