// SPDX-License-Identifier: Apache-2.0

/// Decides which senders' signals to believe: the bus itself and the owner of one service's name.
///
/// It also decides when so many other signals come that one of these may be late or lost. A state machine: it reads
/// nothing and asks no clock.
struct BusTrust {
    /// What to do with a signal.
    enum Verdict {
        case believe
        /// Report a disturbance.
        case report
        case ignore
    }

    /// The name of the bus itself, which no other sender can have.
    static let busName = "org.freedesktop.DBus"
    /// How often a disturbance is reported.
    private static let reportInterval = Duration.seconds(1)

    private let service: String
    /// The service's unique name; nil if it is unknown.
    private var owner: String?
    /// How often the name has changed hands.
    private(set) var ownerCount = 0
    private var reportedAt: ContinuousClock.Instant?
    /// The number of signals that other processes made the service send since then.
    private var caused = (count: 0, since: ContinuousClock.Instant?.none)

    init(service: String) { self.service = service }

    /// Judges a signal by its sender.
    mutating func judge(_ sender: String?, now: ContinuousClock.Instant) -> Verdict {
        if let sender, sender == Self.busName || sender == owner { return .believe }
        // Until the service's unique name is known, any signal may be the service's.
        guard owner != nil, isReportDue(now) else { return .ignore }
        reportedAt = now
        return .report
    }

    /// Records a signal that any process can make the service send; returns whether to report a disturbance.
    ///
    /// - Parameter limit: the normal number of such signals in a second.
    mutating func noteCaused(now: ContinuousClock.Instant, limit: Int) -> Bool {
        if caused.since.map({ now - $0 >= Self.reportInterval }) ?? true { caused = (0, now) }
        caused.count += 1
        guard caused.count > limit, isReportDue(now) else { return false }
        reportedAt = now
        return true
    }

    private func isReportDue(_ now: ContinuousClock.Instant) -> Bool {
        reportedAt.map { now - $0 >= Self.reportInterval } ?? true
    }

    /// Records the sender of a reply, and how often the service's name had changed hands when the call was made.
    ///
    /// The bus accepts replies only from the receiver of the call, and sends its own errors, which have no unique name.
    mutating func noteReply(from sender: String?, toCallOf count: Int) {
        if count == ownerCount, let sender, sender.first == ":" { owner = sender }
    }

    /// Records that a name on the bus has changed hands.
    ///
    /// - Parameter names: the name, its former owner and its new one; empty for none.
    mutating func noteChange(_ names: [String]) {
        guard names.count == 3, names[0] == service else { return }
        owner = names[2].isEmpty ? nil : names[2]
        ownerCount += 1
    }
}
