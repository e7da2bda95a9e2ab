// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
public import SourceKinds
public import StatusModel

/// The slots for checks of all servers.
///
/// Checks without a slot wait, in order. A check that a client requested is urgent, and goes before scheduled ones. A
/// quarter of the slots (at least one if there are several) is reserved for urgent checks, so that they need not wait
/// for checks that hang. As many slots are reserved for waiting scheduled checks, or every second turn if there is only
/// one slot, so that repeated requests do not delay them indefinitely.
@EventLoop
public final class CheckBudget {
    /// The resource that a check uses.
    public enum Resource: Sendable, CaseIterable {
        /// A process that runs a plugin.
        case process
        /// A process that makes an HTTP request.
        case request
        /// A process that checks a file.
        case file
        /// A socket of the daemon itself; only the total is limited.
        case connection
    }

    /// A check's claim to a slot.
    @EventLoop
    public final class Claim {
        let resource: Resource
        let isUrgent: @EventLoop () -> Bool
        /// The number in the queue; nil if the check is not waiting.
        fileprivate var number: Int?

        /// Creates a claim.
        ///
        /// - Parameters:
        ///   - resource: the resource that the check uses.
        ///   - isUrgent: whether a caller waits for the check; when this becomes true, call
        ///     ``CheckBudget/expedite(_:)``.
        public init(_ resource: Resource, isUrgent: @escaping @EventLoop () -> Bool = { false }) {
            self.resource = resource
            self.isUrgent = isUrgent
        }
    }

    private struct Waiter {
        let claim: Claim
        let continuation: CheckedContinuation<Slot?, Never>
    }

    private enum Slot {
        case ordinary, urgent
        /// A slot reserved for urgent checks, used by an ordinary check because urgent checks of its kind wait for it.
        case lent

        /// Whether the slot counts as urgent among the slots of its kind.
        var isUrgent: Bool { self == .urgent }
        /// Whether the slot counts as urgent among all slots.
        var isUrgentOfAll: Bool { self != .ordinary }
    }

    /// The limits; lowering them does not end running checks.
    public var limits: CheckLimits { didSet { admit() } }
    var running: Int { used(of: nil).taken }
    /// The number of checks that wait for a slot.
    var waiting: Int { queue.count }
    private let onDelay: @EventLoop (ServerName, Duration, String) -> Void
    /// The used slots, of all resources together (nil) and of each.
    private var used: [Resource?: UsedSlots] = [:]
    private var queue = CheckQueue<Waiter>()

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
    /// A claim may be used for one run at a time.
    ///
    /// - Throws: the errors of `body`; `CancellationError` if the task is cancelled while waiting.
    public func run<Result: Sendable>(
        _ claim: Claim, _ body: @EventLoop @Sendable () async throws -> Result
    ) async throws -> Result {
        guard let slot = await enter(claim) else { throw CancellationError() }
        defer { leave(claim.resource, slot) }
        return try await body()
    }

    /// Moves a waiting check to the urgent ones.
    public func expedite(_ claim: Claim) {
        guard let number = claim.number else { return }
        queue.expedite(number)
        admit()
    }

    /// Reports that a check, which has its slot now, has waited longer than its interval.
    func reportDelay(_ delay: Duration, of server: ServerName, _ claim: Claim) {
        let kind = limits.limit(of: claim.resource)
        let isScarce = kind.map { !used(of: claim.resource).haveRoomForOrdinary(in: $0.value) } ?? false
        onDelay(server, delay, isScarce ? kind?.key ?? "checks" : "checks")
    }

    /// Waits for a slot and takes it; returns nil if the task is cancelled first.
    private func enter(_ claim: Claim) async -> Slot? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // If the task was cancelled earlier, the handler has already run without finding the claim.
                guard !Task.isCancelled else { return continuation.resume(returning: nil) }
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
        queue.remove(number)?.continuation.resume(returning: nil)
        // The check may have kept a slot from urgent checks.
        admit()
    }

    private func leave(_ resource: Resource, _ slot: Slot) {
        used[nil, default: UsedSlots()].leave(isUrgent: slot.isUrgentOfAll)
        used[resource, default: UsedSlots()].leave(isUrgent: slot.isUrgent)
        admit()
    }

    /// Gives free slots to waiting checks.
    private func admit() {
        while let (waiter, resource, slot) = nextWaiter() {
            used[nil, default: UsedSlots()].enter(isUrgent: slot.isUrgentOfAll)
            used[resource, default: UsedSlots()].enter(isUrgent: slot.isUrgent)
            waiter.claim.number = nil
            waiter.continuation.resume(returning: slot)
        }
    }

    private func nextWaiter() -> (waiter: Waiter, resource: Resource, slot: Slot)? {
        guard running < limits.checks else { return nil }
        let resources = Resource.allCases.filter(hasRoomForUrgent)
        if let (waiter, resource) = queue.popUrgent(
            where: { resources.contains($0) }, isUrgent: { $0.claim.isUrgent() })
        {
            return (waiter, resource, .urgent)
        }
        if let (waiter, resource) = queue.popOrdinary(where: hasRoomForOrdinary) {
            return (waiter, resource, .ordinary)
        }
        let lent = Resource.allCases.filter(mustLend)
        return queue.popOrdinary { lent.contains($0) }.map { ($0.waiter, $0.resource, .lent) }
    }

    /// Whether an urgent check waits for an ordinary check of its kind, which waits for checks of other kinds.
    ///
    /// The other checks may hang, so the ordinary check is admitted.
    private func mustLend(_ resource: Resource) -> Bool {
        guard let limit = limits.limit(of: resource), queue.hasUrgent(resource), queue.hasOrdinary(resource) else {
            return false
        }
        let kind = used(of: resource)
        return kind.haveRoomForOrdinary(in: limit.value)
            && !kind.haveRoomForUrgent(in: limit.value, whileOthersWait: true)
            && used(of: nil).haveRoomForUrgent(in: limits.checks, whileOthersWait: false)
    }

    private func hasRoomForUrgent(_ resource: Resource) -> Bool {
        let others = Resource.allCases.contains { queue.hasOrdinary($0) && hasRoomForOrdinary($0) }
        return used(of: nil).haveRoomForUrgent(in: limits.checks, whileOthersWait: others)
            && (limits.limit(of: resource).map { limit in
                used(of: resource).haveRoomForUrgent(
                    in: limit.value,
                    whileOthersWait: queue.hasOrdinary(resource)
                        && used(of: resource).haveRoomForOrdinary(in: limit.value))
            } ?? true)
    }

    private func hasRoomForOrdinary(_ resource: Resource) -> Bool {
        used(of: nil).haveRoomForOrdinary(in: limits.checks)
            && (limits.limit(of: resource).map { used(of: resource).haveRoomForOrdinary(in: $0.value) } ?? true)
    }

    private func used(of resource: Resource?) -> UsedSlots { used[resource] ?? UsedSlots() }
}

extension CheckLimits {
    /// Returns the number of slots for a resource, and its key in `limits:`; nil if only the total is limited.
    fileprivate func limit(of resource: CheckBudget.Resource) -> (key: String, value: Int)? {
        switch resource {
        case .process: ("processes", processes)
        case .request: ("requests", requests)
        case .file: ("files", files)
        case .connection: nil
        }
    }
}

/// The used slots of one resource, or of all resources.
private struct UsedSlots {
    private(set) var taken = 0
    private var urgent = 0
    /// Whether the last slot was taken by an urgent check.
    private var wasUrgent = false

    mutating func enter(isUrgent: Bool) {
        taken += 1
        if isUrgent { urgent += 1 }
        wasUrgent = isUrgent
    }

    mutating func leave(isUrgent: Bool) {
        taken -= 1
        if isUrgent { urgent -= 1 }
    }

    func haveRoomForOrdinary(in limit: Int) -> Bool {
        taken < limit && taken - urgent < limit - Self.reserve(of: limit)
    }

    func haveRoomForUrgent(in limit: Int, whileOthersWait: Bool) -> Bool {
        guard taken < limit else { return false }
        guard whileOthersWait else { return true }
        return limit == 1 ? !wasUrgent : urgent < limit - Self.reserve(of: limit)
    }

    private static func reserve(of limit: Int) -> Int { limit == 1 ? 0 : max(1, limit / 4) }
}
