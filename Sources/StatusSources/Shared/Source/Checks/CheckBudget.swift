// SPDX-License-Identifier: Apache-2.0

public import EventLoopIO
public import SourceKinds
public import StatusModel

/// The slots for checks of all servers.
///
/// Checks without a slot wait, in order. A check that a client requested goes before those that only the schedule
/// wants. A quarter of the slots, but at least one of several, is reserved for such urgent checks, so that they need
/// not wait for checks that hang. In turn, as many are kept from urgent checks while ordinary ones wait, or every
/// second turn if there is only one slot, so that repeated requests do not keep the others waiting for ever.
@EventLoop
public final class CheckBudget {
    /// The resource that a check uses.
    public enum Resource: Sendable, CaseIterable {
        /// A process that runs a plugin.
        case process
        /// A process that makes an HTTP request.
        case request
        /// A process that looks at this host.
        case look
        /// A socket of the daemon itself; only the total is limited.
        case connection
    }

    /// A check's claim to a slot.
    @EventLoop
    public final class Claim {
        let resource: Resource
        let isUrgent: @EventLoop () -> Bool
        /// Its number while it waits.
        fileprivate var number: Int?

        /// Creates a claim.
        ///
        /// - Parameters:
        ///   - resource: the resource that the check uses.
        ///   - isUrgent: whether a caller waits for it. When that becomes true, ``CheckBudget/expedite(_:)`` must be
        ///     called.
        public init(_ resource: Resource, isUrgent: @escaping @EventLoop () -> Bool = { false }) {
            self.resource = resource
            self.isUrgent = isUrgent
        }
    }

    private struct Waiter {
        let claim: Claim
        let continuation: CheckedContinuation<Place?, Never>
    }

    private enum Place {
        case ordinary, urgent
        /// A slot reserved for urgent checks that an ordinary check uses, because urgent checks of its kind wait for
        /// it.
        case lent

        /// Whether it counts as urgent among the checks of its kind.
        var isUrgent: Bool { self == .urgent }
        /// Whether it counts as urgent among all checks.
        var isUrgentOfAll: Bool { self != .ordinary }
    }

    /// The limits; lower ones do not end checks that are running.
    public var limits: CheckLimits { didSet { admit() } }
    var running: Int { places(of: nil).taken }
    /// The number of checks that wait for a slot.
    var waiting: Int { queue.count }
    private let onDelay: @EventLoop (ServerName, Duration, String) -> Void
    /// The used slots, of all resources together (nil) and of each.
    private var places: [Resource?: Places] = [:]
    private var queue = CheckQueue<Waiter>()

    /// Creates a budget with all slots free.
    ///
    /// - Parameters:
    ///   - limits: the numbers of slots.
    ///   - onDelay: called for a server whose check has waited for a slot longer than its interval, with that time, and
    ///     the key of the limit that made it wait.
    public init(
        _ limits: CheckLimits, onDelay: @escaping @EventLoop (ServerName, Duration, String) -> Void = { _, _, _ in }
    ) {
        self.limits = limits
        self.onDelay = onDelay
    }

    /// Waits for a slot and runs `body` in it.
    ///
    /// A claim is for one run at a time.
    ///
    /// - Throws: what `body` throws; `CancellationError` if the task is cancelled before there is a slot.
    public func run<Result: Sendable>(
        _ claim: Claim, _ body: @EventLoop @Sendable () async throws -> Result
    ) async throws -> Result {
        guard let place = await enter(claim) else { throw CancellationError() }
        defer { leave(claim.resource, place) }
        return try await body()
    }

    /// Notes that a check, which may be waiting for a slot already, has become urgent.
    public func expedite(_ claim: Claim) {
        guard let number = claim.number else { return }
        queue.expedite(number)
        admit()
    }

    /// Reports that a check waited for its slot longer than its interval; it must have the slot.
    func reportDelay(_ delay: Duration, of server: ServerName, _ claim: Claim) {
        let kind = limits.limit(of: claim.resource)
        let isScarce = kind.map { !places(of: claim.resource).haveRoomForOrdinary(in: $0.value) } ?? false
        onDelay(server, delay, isScarce ? kind?.key ?? "checks" : "checks")
    }

    /// Waits for a slot and takes it; returns nil if the task is cancelled first.
    private func enter(_ claim: Claim) async -> Place? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // Checked here: if the task was cancelled before, the handler has already run, without finding the
                // claim.
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
        // It may have kept a slot from urgent checks.
        admit()
    }

    private func leave(_ resource: Resource, _ place: Place) {
        places[nil, default: Places()].leave(isUrgent: place.isUrgentOfAll)
        places[resource, default: Places()].leave(isUrgent: place.isUrgent)
        admit()
    }

    /// Gives free slots to waiting checks, without an interruption.
    private func admit() {
        while let (waiter, resource, place) = nextWaiter() {
            places[nil, default: Places()].enter(isUrgent: place.isUrgentOfAll)
            places[resource, default: Places()].enter(isUrgent: place.isUrgent)
            waiter.claim.number = nil
            waiter.continuation.resume(returning: place)
        }
    }

    private func nextWaiter() -> (waiter: Waiter, resource: Resource, place: Place)? {
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

    /// Whether an urgent check waits for an ordinary one of its kind, which waits for checks of other kinds.
    ///
    /// Those may hang, so the ordinary check is admitted.
    private func mustLend(_ resource: Resource) -> Bool {
        guard let limit = limits.limit(of: resource), queue.hasUrgent(resource), queue.hasOrdinary(resource) else {
            return false
        }
        let kind = places(of: resource)
        return kind.haveRoomForOrdinary(in: limit.value)
            && !kind.haveRoomForUrgent(in: limit.value, besideOthers: true)
            && places(of: nil).haveRoomForUrgent(in: limits.checks, besideOthers: false)
    }

    private func hasRoomForUrgent(_ resource: Resource) -> Bool {
        let others = Resource.allCases.contains { queue.hasOrdinary($0) && hasRoomForOrdinary($0) }
        return places(of: nil).haveRoomForUrgent(in: limits.checks, besideOthers: others)
            && (limits.limit(of: resource).map { limit in
                places(of: resource).haveRoomForUrgent(
                    in: limit.value,
                    besideOthers: queue.hasOrdinary(resource)
                        && places(of: resource).haveRoomForOrdinary(in: limit.value))
            } ?? true)
    }

    private func hasRoomForOrdinary(_ resource: Resource) -> Bool {
        places(of: nil).haveRoomForOrdinary(in: limits.checks)
            && (limits.limit(of: resource).map { places(of: resource).haveRoomForOrdinary(in: $0.value) } ?? true)
    }

    private func places(of resource: Resource?) -> Places { places[resource] ?? Places() }
}

extension CheckLimits {
    /// The number of slots of a resource, with its key in `limits:`; nil if only the total is limited.
    fileprivate func limit(of resource: CheckBudget.Resource) -> (key: String, value: Int)? {
        switch resource {
        case .process: ("processes", processes)
        case .request: ("requests", requests)
        case .look: ("files", files)
        case .connection: nil
        }
    }
}

/// The used slots of one resource, or of all.
private struct Places {
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

    func haveRoomForUrgent(in limit: Int, besideOthers: Bool) -> Bool {
        guard taken < limit else { return false }
        guard besideOthers else { return true }
        return limit == 1 ? !wasUrgent : urgent < limit - Self.reserve(of: limit)
    }

    private static func reserve(of limit: Int) -> Int { limit == 1 ? 0 : max(1, limit / 4) }
}
