// SPDX-License-Identifier: Apache-2.0

/// Whose signals are believed: those of the bus itself, and of whoever has the name of one service; and when there are so many others that
/// one of these may be late, or lost.
///
/// A state machine: it reads nothing and asks no clock.
struct BusTrust {
    /// What to do with a signal.
    enum Verdict {
        case believe
        /// Say that others send something.
        case report
        case ignore
    }

    /// The name of the bus itself, which nobody else can have.
    static let busName = "org.freedesktop.DBus"
    /// How often it is said that others send something.
    private static let reportInterval = Duration.seconds(1)

    private let service: String
    /// The service's unique name; nil where it is not known.
    private var owner: String?
    /// How often the name has changed hands.
    private(set) var ownerCount = 0
    private var reportedAt: ContinuousClock.Instant?
    /// How many signals the service was made to send, by whomever, since then.
    private var caused = (count: 0, since: ContinuousClock.Instant?.none)

    init(service: String) { self.service = service }

    /// Judges a signal by its sender.
    mutating func judge(_ sender: String?, now: ContinuousClock.Instant) -> Verdict {
        if let sender, sender == Self.busName || sender == owner { return .believe }
        // Before it is known who the service is, everything may be its.
        guard owner != nil, isReportDue(now) else { return .ignore }
        reportedAt = now
        return .report
    }

    /// Notes a signal of the service that anybody can make it send; returns whether to say that there are many of them.
    ///
    /// - Parameter limit: how many may come in a second that this process has caused itself, or that are nothing special.
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

    /// Notes a reply to a call that went to the service when its name had changed hands so many times.
    ///
    /// The bus lets nobody reply but who was called, or itself: it has no unique name.
    mutating func noteReply(from sender: String?, toCallOf count: Int) {
        if count == ownerCount, let sender, sender.first == ":" { owner = sender }
    }

    /// Notes that a name on the bus has changed hands.
    ///
    /// - Parameter names: the name, who had it, and who has it now; empty for nobody.
    mutating func noteChange(_ names: [String]) {
        guard names.count == 3, names[0] == service else { return }
        owner = names[2].isEmpty ? nil : names[2]
        ownerCount += 1
    }
}
