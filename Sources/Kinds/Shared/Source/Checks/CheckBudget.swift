// SPDX-License-Identifier: Apache-2.0

import DequeModule
public import EventLoopIO
public import SourceKinds
public import StatusModel

/// The slots for checks of all servers.
///
/// Checks without a slot wait, in order. A check that a client requested is urgent, and goes before scheduled ones. A
/// quarter of the slots (at least one if there are several) is reserved for urgent checks, so that they need not wait
/// for checks that hang.
@EventLoop
public final class CheckBudget {
    public enum Resource: Sendable, CaseIterable {
        /// A process that runs a plugin.
        case process
        /// A process that makes an HTTP request, asks a name server, or looks up a host.
        case request
        /// A process that checks this host.
        case host
        /// A socket of the daemon itself, or a file of the kernel; only the total is limited.
        case connection
    }

    /// A check's claim to a slot, for one run at a time.
    @EventLoop
    public final class Claim {
        let resource: Resource
        fileprivate var isUrgent = false
        /// The check that waits for a slot, and its number in the order of arrival.
        fileprivate var waiter: (number: Int, continuation: CheckedContinuation<Bool, Never>)?

        public init(_ resource: Resource) { self.resource = resource }
    }

    /// The checks of one resource that wait, in order; checks that no longer wait here stay until they reach the front.
    private typealias Line = Deque<(number: Int, claim: Claim)>

    /// The limits; lowering them does not end running checks.
    public var limits: CheckLimits { didSet { admit() } }
    /// The number of checks that have a slot.
    var running: Int { used.values.reduce(0) { $0 + $1.all } }
    /// The number of checks that wait for a slot.
    private(set) var waiting = 0
    private let onDelay: @EventLoop (ServerName, Duration, String) -> Void
    private var used: [Resource: UsedSlots] = [:]
    private var urgent: [Resource: Line] = [:]
    private var ordinary: [Resource: Line] = [:]
    private var lastNumber = 0

    /// Creates a budget with all slots free.
    ///
    /// - Parameters:
    ///   - limits: the numbers of slots.
    ///   - onDelay: called if a check has waited for a slot longer than its interval: with the server, the time, and
    ///     the key of the limit to raise.
    public init(
        _ limits: CheckLimits, onDelay: @escaping @EventLoop (ServerName, Duration, String) -> Void = { _, _, _ in }
    ) {
        self.limits = limits
        self.onDelay = onDelay
    }

    /// Waits for a slot and runs `body` in it.
    ///
    /// - Throws: the errors of `body`; `CancellationError` if the task is cancelled while waiting.
    public func run<Result: Sendable>(
        _ claim: Claim, isUrgent: Bool = false, _ body: @EventLoop @Sendable () async throws -> Result
    ) async throws -> Result {
        guard await enter(claim, isUrgent) else { throw CancellationError() }
        defer { leave(claim) }
        return try await body()
    }

    /// Moves a waiting check to the urgent ones.
    public func expedite(_ claim: Claim) {
        guard let number = claim.waiter?.number, !claim.isUrgent else { return }
        claim.isUrgent = true
        urgent[claim.resource, default: []].append((number, claim))
        admit()
    }

    /// Reports that a check, which has its slot now, has waited longer than its interval.
    func reportDelay(_ delay: Duration, of server: ServerName, _ claim: Claim) {
        let kind = limits.limit(of: claim.resource)
        let isScarce = kind.map { !used(of: claim.resource).haveRoom(in: $0.value, isUrgent: false) } ?? false
        onDelay(server, delay, isScarce ? kind?.key ?? "checks" : "checks")
    }

    /// Waits for a slot and takes it; returns false if the task is cancelled first.
    private func enter(_ claim: Claim, _ isUrgent: Bool) async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // If the task was cancelled earlier, the handler has already run without finding the claim.
                guard !Task.isCancelled else { return continuation.resume(returning: false) }
                lastNumber += 1
                waiting += 1
                (claim.waiter, claim.isUrgent) = ((lastNumber, continuation), false)
                ordinary[claim.resource, default: []].append((lastNumber, claim))
                if isUrgent { expedite(claim) } else { admit() }
            }
        } onCancel: {
            EventLoop.perform { self.end(claim, hasSlot: false) }
        }
    }

    private func end(_ claim: Claim, hasSlot: Bool) {
        guard let waiter = claim.waiter.take() else { return }
        waiting -= 1
        waiter.continuation.resume(returning: hasSlot)
    }

    private func leave(_ claim: Claim) {
        used[claim.resource, default: UsedSlots()].change(by: -1, isUrgent: claim.isUrgent)
        admit()
    }

    private func admit() {
        while let claim = next(in: &urgent, isUrgent: true) ?? next(in: &ordinary, isUrgent: false) {
            used[claim.resource, default: UsedSlots()].change(by: 1, isUrgent: claim.isUrgent)
            end(claim, hasSlot: true)
        }
    }

    /// Takes the first waiting check for which there is room; nil if there is none.
    private func next(in lines: inout [Resource: Line], isUrgent: Bool) -> Claim? {
        var first: (number: Int, claim: Claim)?
        for resource in Resource.allCases where hasRoom(for: resource, isUrgent: isUrgent) {
            while let front = lines[resource]?.first {
                if front.claim.waiter?.number == front.number, front.claim.isUrgent == isUrgent {
                    first = first.map { $0.number < front.number ? $0 : front } ?? front
                    break
                }
                lines[resource]?.removeFirst()
            }
        }
        return first?.claim
    }

    private func hasRoom(for resource: Resource, isUrgent: Bool) -> Bool {
        let total = used.values.reduce(UsedSlots()) { UsedSlots(all: $0.all + $1.all, urgent: $0.urgent + $1.urgent) }
        guard total.haveRoom(in: limits.checks, isUrgent: isUrgent) else { return false }
        return limits.limit(of: resource).map { used(of: resource).haveRoom(in: $0.value, isUrgent: isUrgent) } ?? true
    }

    private func used(of resource: Resource) -> UsedSlots { used[resource] ?? UsedSlots() }
}

extension CheckLimits {
    /// Returns the number of slots for a resource, and its key in `limits:`; nil if only the total is limited.
    fileprivate func limit(of resource: CheckBudget.Resource) -> (key: String, value: Int)? {
        switch resource {
        case .process: ("processes", processes)
        case .request: ("requests", requests)
        case .host: ("files", files)
        case .connection: nil
        }
    }
}

/// The used slots of one resource, or of all resources.
private struct UsedSlots {
    var all = 0
    var urgent = 0

    mutating func change(by count: Int, isUrgent: Bool) {
        all += count
        if isUrgent { urgent += count }
    }

    /// Whether another check may run; a quarter of the slots is reserved for urgent checks.
    func haveRoom(in limit: Int, isUrgent: Bool) -> Bool {
        let reserved = limit == 1 ? 0 : max(1, limit / 4)
        return all < limit && (isUrgent || all - urgent < limit - reserved)
    }
}
