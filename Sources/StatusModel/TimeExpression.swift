// SPDX-License-Identifier: Apache-2.0

/// A time as people write it, by the rules of systemd.time(7): `2026-11-25 12:00`, `yesterday`, `2h ago`.
///
/// Its meaning depends on the current time and the time zone, so it is parsed first and resolved later.
public struct TimeExpression: Hashable, Sendable {
    /// The accepted forms, for messages.
    public static let rule =
        "must be a time such as “2026-11-25 12:00”, 2026-11-25, 12:00, yesterday, -2h, “2h ago”, @1795608000 "
        + "or 2026-11-25T12:00:00Z"

    enum Form: Hashable, Sendable {
        /// The current time, or this much later.
        case now(plus: Duration)
        /// The milliseconds since 1970-01-01T00:00:00Z.
        case epoch(Int64)
        /// The beginning of today, or of the day this many days later.
        case day(after: Int64)
        /// A date and a time of day, with milliseconds.
        case date(CivilTime, milliseconds: Int64)
        /// A time of day, today.
        case ofToday(CivilTime, milliseconds: Int64)
    }

    enum Zone: Hashable, Sendable {
        case local
        case fixed(minutesEast: Int64)
    }

    let form: Form
    let zone: Zone

    /// Resolves the time; the result is limited to the years 1970 to 9999.
    public func timestamp(now: Timestamp, local: CivilZone) -> Timestamp {
        let milliseconds = milliseconds(now: now, in: zone(local)) ?? 0
        return Timestamp(milliseconds: min(max(0, milliseconds), Timestamp.expressible.upperBound))
    }

    /// Resolves the time as one to come: a time of day that has passed today is that of tomorrow.
    public func upcoming(now: Timestamp, local: CivilZone) -> Timestamp {
        let time = timestamp(now: now, local: local)
        guard case .ofToday = form, time <= now else { return time }
        return timestamp(now: now + .seconds(86_400), local: local)
    }

    private func zone(_ local: CivilZone) -> CivilZone {
        switch zone {
        case .local: local
        case .fixed(let minutes): .fixed(minutesEast: minutes)
        }
    }

    private func milliseconds(now: Timestamp, in zone: CivilZone) -> Int64? {
        func today() -> CivilTime { zone.time(Int64((Double(now.milliseconds) / 1000).rounded(.down))) }
        switch form {
        case .now(let duration):
            let later = duration.milliseconds
            let (sum, overflow) = now.milliseconds.addingReportingOverflow(later)
            return overflow ? (later < 0 ? 0 : .max) : sum
        case .epoch(let milliseconds): return milliseconds
        case .day(let count): return zone.seconds(today().midnight(daysLater: count)).map { $0 * 1000 }
        case .date(let date, let milliseconds): return zone.seconds(date).map { $0 * 1000 + milliseconds }
        case .ofToday(let time, let milliseconds):
            var date = today().midnight()
            (date.hour, date.minute, date.second) = (time.hour, time.minute, time.second)
            return zone.seconds(date).map { $0 * 1000 + milliseconds }
        }
    }
}

extension Duration {
    /// The whole milliseconds; dividing two durations would round.
    var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
